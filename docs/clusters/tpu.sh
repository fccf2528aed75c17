#!/bin/bash
# All machines of a TPU slice as hosts of one JAX program.
gcloud compute tpus tpu-vm ssh my-slice --zone us-central1-a --worker all --command \
  "JAX_PLATFORMS=tpu JAX_ENABLE_X64=0 jaxrank bootstrap results.csv -m borda -B 2000 --hosts auto --save replicates.npz"
