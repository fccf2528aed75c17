"""Draw the gallery: figures/gallery/*.svg and gallery.md, from the recipes below: python docs/gallery.py"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

import jaxrank as jr

HERE = Path(__file__).resolve().parent
FIGURES = HERE / "figures" / "gallery"
SETUP = """import numpy as np

import jaxrank as jr

everyone = jr.datasets.load("misguided_attention")      # 58 models x 52 questions x 3 trials
some = everyone.select(models=range(2, 58, 4))          # every fourth, none with gaps
fit = jr.fit(some)
rasch = jr.fit(some, "rasch_map")
rep = jr.bootstrap(some, n_replicates=2000)
apart = jr.datasets.load("lrm_token_economy").select(models=[0, 1, 18, 11, 21])   # 19 questions x 5 trials
con = jr.convergence(apart, ["bayes", "pass_at_k"], n_replicates=2000)
post = jr.posterior(some, "bradley_terry", n_chains=4, n_warmup=500, n_samples=500)
methods = ["bayes", "avg", "borda", "copeland", "rasch_map", "bradley_terry_map", "elo", "pagerank"]
table = jr.fit_all(some, methods)
wins = np.array([[0, 6, 3, 7], [4, 0, 8, 6], [7, 2, 0, 5], [3, 4, 5, 0]])
battles = jr.Comparisons.from_matrix(wins, models=["fir", "elm", "oak", "ash"])
noise = np.random.default_rng(0).normal(size=(6, 24, 3))        # 6 models x 24 tasks x 3 runs
trees = ["fir", "elm", "oak", "ash", "yew", "box"]
scores = jr.Responses(np.linspace(1.2, 0, 6)[:, None, None] + noise, models=trees)
"""

RECIPES = {
    "leaderboard": ("Who is really ahead", "fit.plot()"),
    "leaderboard_replicates": ("The same with intervals of the ranks", 'rep.plot("leaderboard")'),
    "superiority": ("Which pairs are settled", 'fit.plot("superiority")'),
    "wins": ("Who met whom, and how it ended", "jr.plots.win_matrix(battles)"),
    "responses": ("Outcomes of every model on every question", 'fit.plot("responses")'),
    "tau": ("How many trials suffice", "con.plot()"),
    "convergence": ("From how many trials on the ranking stays", 'con.plot("convergence")'),
    "bump": ("Who swaps with whom, and when", 'con.plot("bump")'),
    "ranks": ("How probable each rank is", "rep.plot()"),
    "tiers": ("Where lines may be drawn", 'rep.plot("tiers")'),
    "items": ("Whether questions behave as the model says", 'rasch.plot("items")'),
    "wright": ("Whether the questions are on target", 'rasch.plot("wright")'),
    "hodge": ("Whether one order is meaningful", 'jr.fit(battles, "hodge_rank").plot("hodge")'),
    "pass": ("Succeeds once in k tries, and in all of k", "jr.plots.pass_curves(apart)"),
    "critical_difference": ("What mean ranks tell apart", "jr.plots.critical_difference(scores)"),
    "profiles": ("Who is better, whatever counts as good", "jr.plots.profiles(scores, models=scores.models[::2])"),
    "agreement": ("Whether the method matters", "table.plot()"),
    "posterior": ("A posterior", "post.plot()"),
    "trace": ("Whether the chains agree", 'post.plot("trace")'),
    "chain_ranks": ("The same by ranks", 'post.plot("chain_ranks")'),
    "ess": ("How many draws the chains are worth", 'post.plot("ess")'),
}

PAGE = """# Gallery

Every plot is one call. It returns the Axes; `return_data=True` returns the data frame behind it as well, and `ax=`
draws into Axes of yours or into an empty `matplotlib.figure.Figure`, which gets a size that fits. Names are never cut:
without `ax` the figure is as wide as they need. This page is written by `docs/gallery.py` from

```python
{setup}```

"""


def main() -> None:
    mpl.use("svg")
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "jaxrank"})
    FIGURES.mkdir(parents=True, exist_ok=True)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jr.JaxrankWarning)
        exec(SETUP, names)
        parts = [PAGE.format(setup=SETUP)]
        for name, (title, code) in RECIPES.items():
            ax = eval(code, names)
            ax.figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None}, dpi=200)
            plt.close(ax.figure)
            parts.append(f"## {title}\n\n```python\n{code}\n```\n\n![{title}](figures/gallery/{name}.svg)\n\n")
    (HERE / "gallery.md").write_text("".join(parts).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
