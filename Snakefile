# One rule per job, made from notebooks/notebooks.yaml and params/<run>. Run it through the Makefile, or by hand, and then
# everything is made (the Makefile names what is kept; a job of a cluster must not find that out anew):
#   snakemake --cores 2 --config run=laptop
import shlex
import sys

from judgekit.report.workflow import jobs_of, notebook_list, notebook_of, resources_of, stamp

RUN = config.get("run", "sample")
KEPT = str(config.get("kept") or "").split(",")  # their tracked results stand
JOBS = {job: [other for other in before if other not in KEPT] for job, before in jobs_of(RUN).items() if job not in KEPT}
NOTEBOOKS = notebook_list()
RESOURCES = resources_of(RUN)
# Of each job: written anew when its parameters, its notebook's code or the code that it imports say something else.
STAMPS = {job: str(stamp(RUN, job)) for job in JOBS}  # a misspelt parameter fails here, before anything starts


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
            before=[executed(other) for other in before],
            made_of=STAMPS[job],
        output:
            executed(job),
        threads: NOTEBOOKS[notebook_of(job)]["threads"]
        resources:
            **RESOURCES.get(job, {}),
        params:
            job=job,
        shell:
            f"{shlex.quote(sys.executable)} -m judgekit.report.workflow run {{params.job}} {RUN}"
