"""The tables that `read` understands, each by an example: the page of formats shows them, a test reads every one."""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    """A table by its example. **text**: its first lines as csv. **reads**: what comes out. **options**: what else the
    command line is told."""

    what: str
    text: str
    reads: str
    options: str = ""


SHAPES = (
    Shape("a row a trial", "model,question,trial,score\nada,q1,0,1\nbob,q1,0,0\n", "trials"),
    Shape("wide, a column a model", "question,ada,bob\nq1,1,0\nq2,0.5,1\n", "trials", "--wide models"),
    Shape(
        "wide, a column a question (LiveBench)",
        "model,math,code\nada,61.5,70\nbob,50,81.2\n",
        "trials",
        "--wide questions",
    ),
    Shape(
        "several metrics",
        "model,acc,loss\nada,0.5,2\nbob,0.7,1\n",
        "a question each",
        "--score-column acc --score-column loss",
    ),
    Shape(
        "predictions and answers", "model,question,pred,answer\nada,q1,B,B\nbob,q1,A,B\n", "0 and 1", "--answer-column"
    ),
    Shape(
        "weights, groups (tasks)",
        "model,task,id,weight,score\nada,x,1,2,1\nbob,x,1,2,0\nada,y,1,1,1\nbob,y,1,1,1\n",
        "a table of questions",
        "--weight-column, --group-column",
    ),
    Shape(
        "results of AutoML and TabArena",
        "method,dataset,fold,metric_error\nada,x,0,0.1\nbob,x,0,0.3\n",
        "folds are trials, lower is better",
        "--lower-is-better",
    ),
    Shape("LiveBench judgments", "question_id,task,model,score,category\nh1,math,ada,1,m\nh1,math,bob,0,m\n", "trials"),
    Shape(
        "arena votes", "model_a,model_b,winner,judge,language\nada,bob,model_a,u1,en\nbob,ada,tie,u2,en\n", "battles"
    ),
    Shape("two games a pair (MT-bench)", "model_1,model_2,g1_winner,g2_winner\nada,bob,model_1,tie\n", "battles"),
    Shape("verdicts with degrees", "model_a,model_b,winner\nada,bob,A>>B\nada,bob,B>A\n", "battles with a grade"),
    Shape("football", "home_team,away_team,home_score,away_score\nada,bob,2,1\nbob,ada,0,0\n", "battles"),
    Shape("tennis", "winner_name,loser_name,surface\nada,bob,Clay\nbob,ada,Grass\n", "battles"),
    Shape(
        "battles of other names",
        "first,second,who\nada,bob,ada\nbob,ada,ada\n",
        "battles",
        "--a-column first --b-column second --winner-column who",
    ),
)
