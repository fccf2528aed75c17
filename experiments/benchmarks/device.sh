#!/usr/bin/env bash
# Correctness and replicates a second on this machine's accelerator, in under 6 minutes; see README.md.
#
#   experiments/benchmarks/device.sh [OUT.json] [reduced]
#
# PYTHON names the interpreter (default python3); it needs jaxrank's requirements and a jaxlib that sees the device.
# "reduced" runs few methods and replicates, to try the script on a CPU.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:-$here/results/device.json}
arguments=(--out "$out")
if [ "${2:-}" = reduced ]; then
    arguments+=(--replicates 1000,4000 --methods avg,bradley_terry,borda --limit 60)
fi
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
# 340 s of work; whatever still runs then is stopped, and the file holds what was measured.
timeout 355 "${PYTHON:-python3}" "$here/workers/device.py" "${arguments[@]}"
