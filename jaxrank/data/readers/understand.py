"""What a table means, from its columns and first values: trials, a wide table, answers to be compared, or battles.

A table is read where a person could say what it means; where it says two things or none, the refusal shows it (columns,
first values, what was understood) with the option that would settle it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxrank.data.readers import aggregates, lists, sides, wide
from jaxrank.data.readers.columns import ALIASES, Peek, find, listed, lower_is_better
from jaxrank.data.readers.options import Options
from jaxrank.errors import DataError

PREDICTIONS = (
    "pred",
    "prediction",
    "predicted",
    "predicted_answer",
    "extracted_answer",
    "parsed_answer",
    "model_answer",
)
ANSWERS = (
    *("answer", "gold", "target", "label", "expected", "correct_answer", "ground_truth", "gold_answer", "gold_label"),
    *("reference_answer", "expected_answer"),
)
_STRONG = ALIASES["score"][: ALIASES["score"].index("exact_match")]
"""Names that say that a column holds the score; the others of `ALIASES` do so where the column holds numbers."""
_OWN_TASK = ("task", "task_name", "dataset", "dataset_name", "benchmark", "subset", "subject", "suite")
"""Names of groups within which questions are numbered anew."""


@dataclass(frozen=True)
class Layout:
    """How a table is read.

    **kind**: "trials" (a row a trial), "answers" (a row a prediction), "wide", "battles", "lists" (a row a model of an
    ordered list).
    **roles**: the column that plays each role (model, question, trial, score, answer, weight, group; order, place).
    **values**: the columns of a wide table, **across** what they are: "models", "questions" or "metrics"; of lists what
    else is known of them.
    **battles**: the columns of a table of battles.  **lower**: whether lower scores are better, as far as known.
    **notes**: what was assumed.
    """

    kind: str
    roles: Mapping[str, str] = field(default_factory=dict)
    values: tuple[str, ...] = ()
    across: str = ""
    battles: sides.Roles | None = None
    lower: bool | None = None
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The columns to read, each once."""
        if self.battles is not None:
            return self.battles.columns
        return list(dict.fromkeys([*self.roles.values(), *self.values]))

    @property
    def numbers(self) -> list[str]:
        """Those that hold numbers."""
        if self.battles is not None:
            return [*(self.battles.points or ()), *self.battles.numbers]
        if self.kind == "lists":
            return []
        return [
            *self.values,
            *(self.roles[r] for r in ("score", "weight") if r in self.roles and self.kind != "answers"),
        ]


def understand(peek: Peek, options: Options, where: str = "", *, path_names_model: bool = False) -> Layout:
    """How to read a table; `DataError` that shows it where that is not clear.

    **path_names_model**: whether the model may stand in the path of the file, where no column holds it.
    """
    peek = Peek([c for c in peek.names if isinstance(c, str)], peek.head)
    if not options.trials and options.wide is None and (roles := sides.roles_of(peek, options, where)):
        return Layout("battles", battles=roles)
    if options.wide is not None:
        return _wide(peek, options, options.wide, where)
    if (roles := lists.roles_of(peek, options, where)) is not None:
        kept = tuple(name for name in peek.names if name not in roles.values())
        return Layout("lists", roles, kept)
    if not options.trials and aggregates.is_leaderboard(peek.names):
        raise DataError(f"{where}{aggregates.refusal(peek.names)}")
    model = find("model", options.model, peek.names, where)
    question = find("question", options.question, _questions(peek.names, options), where)
    if len(options.scores) > 1:
        return _metrics(peek, options, model, question, where)
    named = options.scores[0] if options.scores else None
    score, said = _score(peek, named, [model, question], where)
    answer = _answer(peek, options, score, where)
    unclear = options.score is None and options.answer is None and answer is None and (score is None or model is None)
    if unclear and (across := _across(peek, model, question, score)) is not None:
        return _wide(peek, options, across, where)
    if answer is not None:
        score, said = (answer[0], ()) if options.score is None else (score, said)
        answer = answer[1]
    missing = [r for r, c in (("model", model), ("question", question), ("score", score)) if c is None]
    if missing and not (missing == ["model"] and path_names_model):
        raise DataError(f"{where}{refusal(peek, options, missing, model, question, score)}")
    roles = {"model": model, "question": question, "score": score, "answer": answer}
    taken = [c for c in roles.values() if c is not None]
    roles["trial"] = find("trial", options.trial, [c for c in peek.names if c not in taken], where)
    roles["weight"] = find("weight", options.weight, [c for c in peek.names if c not in taken], where)
    roles["group"] = _group(peek, options, [*taken, roles["trial"]], where)
    used = {role: column for role, column in roles.items() if column is not None}
    if len(set(used.values())) < len(used):
        raise DataError(f"{where}one column cannot play two roles: {', '.join(f'{r}={c}' for r, c in used.items())}")
    lower = None if answer is not None or score is None else lower_is_better(score) or None
    return Layout("trials" if answer is None else "answers", used, lower=lower, notes=said)


def _questions(names: list[str], options: Options) -> list[str]:
    # In frames of Inspect's samples_df, sample_id is a new identifier for every epoch and id is the question.
    uuid = "sample_id" in names and "id" in names and "epoch" in names
    return [c for c in names if c != "sample_id"] if uuid and options.question is None else names


def _score(peek: Peek, named: str | None, taken: list[str | None], where: str) -> tuple[str | None, tuple[str, ...]]:
    """The column of scores, and what was assumed."""
    if named is not None and named != "score":
        return find("score", named, peek.names, where), ()
    rest = [c for c in peek.names if c not in taken]
    plain = {c.strip().lower(): c for c in reversed(rest)}
    for alias in ALIASES["score"]:
        if alias in plain and (alias in _STRONG or peek.numbers(plain[alias])):
            others = [
                c for c in rest if c != plain[alias] and c.strip().lower() in ALIASES["score"] and peek.numbers(c)
            ]
            said = f"column {plain[alias]!r} is taken for the score, not {listed(others, 3)}; score=... names another"
            return plain[alias], (said,) if others else ()
    own = [c for c in rest if c.startswith("score_") and peek.scores(c)]
    if len(own) == 1:  # frames of Inspect name the score after the scorer
        return own[0], ()
    if None in taken:
        return None, ()
    known = {alias for role in ("trial", "weight", "group", "count", "time", "place") for alias in ALIASES[role]}
    left, _ = wide.values_of(peek, [*taken, *(c for c in rest if c.strip().lower() in known)])
    if len(left) == 1:
        return left[0], (f"column {left[0]!r} is taken for the score: it is the only column of scores",)
    return None, ()


def _answer(peek: Peek, options: Options, score: str | None, where: str) -> tuple[str, str] | None:
    """The columns of predictions and of right answers, where the score is to be made by comparing them."""
    plain = {c.strip().lower(): c for c in reversed(peek.names)}
    prediction = next((plain[p] for p in PREDICTIONS if p in plain), None)
    if options.answer is not None:
        answer = (
            find("answer", options.answer, peek.names, where) if options.answer != "answer" else plain.get("answer")
        )
        if answer is None:
            raise DataError(f"{where}no column 'answer'; the columns are {listed(peek.names)}. Name it with answer=...")
        if options.score is None and prediction is None:
            raise DataError(
                f"{where}no column of predictions to compare with {answer!r} (one of {', '.join(PREDICTIONS)}); the "
                f"columns are {listed(peek.names)}. Name it with score=..."
            )
        return prediction or "", answer
    answer = next((plain[a] for a in ANSWERS if a in plain and plain[a] != prediction), None)
    return (prediction, answer) if score is None and prediction is not None and answer is not None else None


def _group(peek: Peek, options: Options, taken: list[str | None], where: str) -> str | None:
    if options.group is not None:
        return find("group", options.group, peek.names, where)
    rest = [c for c in peek.names if c not in taken and peek.head.get(c) is not None]
    return find("group", None, [c for c in rest if c.strip().lower() in (*_OWN_TASK, "group")])


def own_task(name: str) -> bool:
    """Whether questions are numbered anew within groups of this column, by its name."""
    return name.strip().lower() in _OWN_TASK


def _across(peek: Peek, model: str | None, question: str | None, score: str | None) -> str | None:
    """What the columns of a wide table are, "models" or "questions"; None where it is no wide table."""
    label = question if model is None else model if question is None else None
    known = [c for role in ("trial", "weight") if (c := find(role, None, peek.names)) is not None]
    if label is None and model is None and question is None:
        values, _ = wide.values_of(peek, known)
        labels = [c for c in peek.names if c not in values and c not in known]
        rows = peek.head.get(labels[0], []) if len(labels) == 1 else []
        if len(values) > 1 and len(labels) == 1 and wide.numbered(values) != wide.numbered(rows):
            return "questions" if wide.numbered(values) else "models"
        return None
    if label is None:
        return None
    values, _ = wide.values_of(peek, [label, *known])
    if score is not None and (score.strip().lower() in _STRONG or len(values) < 3):
        return None
    return None if len(values) < 2 else "models" if model is None else "questions"


def _wide(peek: Peek, options: Options, across: str, where: str) -> Layout:
    role = "question" if across == "models" else "model"
    label = find(role, getattr(options, role), peek.names, where)
    trial = find("trial", options.trial, [c for c in peek.names if c != label], where)
    weight = find("weight", options.weight, peek.names, where) if across == "models" else None
    group = find("group", options.group, [c for c in peek.names if c != label], where) if options.group else None
    named = options.scores
    for name in named:
        find("score", name, peek.names, where)
    values, out = wide.values_of(peek, [label, trial, weight, group])
    if named:
        values, out = named, []
    if label is None:
        labels = [c for c in peek.names if c not in values and c not in out and c not in (trial, weight, group)]
        if len(labels) != 1:
            label = peek.names[0] if peek.names and peek.names[0] not in values else None
        else:
            label = labels[0]
    if label is None or not values:
        raise DataError(
            f"{where}a wide table with a column for each {across[:-1]} needs a column that names the {role}s; it has "
            f"{shown_table(peek)}. Name it with {role}=..."
        )
    others = [c for c in peek.names if c not in (label, trial, weight, group, *values, *out)]
    notes = [f"a wide table: a row a {role} ({label!r}), a column a {across[:-1]} ({listed(values, 4)})"]
    if options.wide is None:
        notes[0] += f"; wide={'questions' if across == 'models' else 'models'!r} would turn it"
    if left := [*out, *others]:
        notes.append(f"no scores of {across}, and left out: {listed(left, 6)}")
    found = {role: label, "trial": trial, "weight": weight, "group": group}
    lower = None
    return Layout("wide", {r: c for r, c in found.items() if c}, tuple(values), across, lower=lower, notes=tuple(notes))


def _metrics(peek: Peek, options: Options, model: str | None, question: str | None, where: str) -> Layout:
    """Several columns of scores: each metric is a question, or a question by each metric where there are questions."""
    for name in options.scores:
        find("score", name, peek.names, where)
    if model is None:
        raise DataError(f"{where}{refusal(peek, options, ['model'], model, question, options.scores[0])}")
    taken = [model, question, *options.scores]
    found = {"model": model, "question": question}
    found["trial"] = find("trial", options.trial, [c for c in peek.names if c not in taken], where)
    notes = (f"each of {listed(options.scores, 6)} is a question" + (" by question" if question else ""),)
    return Layout("wide", {r: c for r, c in found.items() if c}, tuple(options.scores), "metrics", notes=notes)


def shown_table(peek: Peek) -> str:
    """The columns and their first values, on one line."""
    text = ", ".join(peek.shows(c) for c in peek.names[:12])
    return text + (f" and {len(peek.names) - 12} more" if len(peek.names) > 12 else "")


def refusal(
    peek: Peek, options: Options, missing: list[str], model: str | None, question: str | None, score: str | None
) -> str:
    """Why a table is not understood: what it has, what was understood, and the option that would settle it."""
    found = [f"{r} = {c!r}" for r, c in (("model", model), ("question", question), ("score", score)) if c is not None]
    understood = f"; understood: {', '.join(found)}" if found else ""
    values, _ = wide.values_of(peek, [model, question])
    settle = [
        f"Name it with {missing[0]}=..."
        if len(missing) == 1
        else "Name them with " + ", ".join(f"{m}=..." for m in missing)
    ]
    if "model" in missing and "score" not in missing:
        settle.append("or, where the model stands in the path of the file, say model_from_path='{model}/*.csv'")
    if len(values) > 1 and "score" in missing:
        settle.append(
            "; for a wide table, with a column for each model, say wide='models', for each question wide='questions'"
        )
    if missing == ["score"] and (place := find("place", None, peek.names)) is not None:
        settle.append(f"; for ordered lists, a row for each model of a list, say place={place!r}")
    if not options.trials and not options.battles and len(missing) > 1:
        settle.append("; battles need a=..., b=... and winner=...")
    if {"judge", "candidate"} <= {*peek.names}:
        settle.append("; candidates are ranked from scores of judges by `jaxrank judges FILE` or jaxrank.judges.infer")
    said = " and ".join(f"no {m} column" for m in missing)
    return f"{said}; the columns are {shown_table(peek)}{understood}. {' '.join(settle).replace(' ;', ';')}"
