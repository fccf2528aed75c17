#!/bin/bash
# Started on any number of machines that may vanish, at any time: each does what nobody has in hand, those of dead
# machines too, and ends when the study is complete. 75 says that this one was told to go.
jaxrank bootstrap results.csv -m borda -B 2000 --chunk-size 128 --checkpoint "${STUDY:-gs://my-bucket/study}" --steal
