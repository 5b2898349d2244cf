# One rule per job, made from notebooks/notebooks.yaml and params/<run>. Run it through the Makefile, or by hand:
#   snakemake --cores 2 --config run=laptop
import shlex
import sys

from judgekit.workflow import (
    code_files,
    jobs_of,
    notebook_list,
    notebook_of,
    notebook_path,
    parameter_file,
    read_parameters,
    resources_of,
)

RUN = config.get("run", "sample")
JOBS = jobs_of(RUN)
NOTEBOOKS = notebook_list()
RESOURCES = resources_of(RUN)
for job in JOBS:
    read_parameters(RUN, job)  # a misspelt parameter fails here, before anything starts


def executed(job):
    return f"outputs/{RUN}/executed/{job}.ipynb"


rule all:
    input:
        [executed(job) for job in JOBS],


for job, before in JOBS.items():

    rule:
        name:
            job
        input:
            notebook=str(notebook_path(job)),
            parameters=str(parameter_file(RUN, job)),
            before=[executed(other) for other in before],
            code=[str(path) for path in code_files(job)],
        output:
            executed(job),
        threads: NOTEBOOKS[notebook_of(job)]["threads"]
        resources:
            **(NOTEBOOKS[notebook_of(job)]["resources"] | RESOURCES.get(job, {})),
        params:
            job=job,
        shell:
            f"{shlex.quote(sys.executable)} -m judgekit.workflow run {{params.job}} {RUN}"
