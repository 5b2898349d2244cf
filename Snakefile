# One rule per notebook, made from notebooks/notebooks.yaml. Run it through the Makefile, or by hand:
#   snakemake --cores 2 --config run=laptop
import shlex
import sys

from judgekit.workflow import code_files, notebook_list, notebook_path, parameter_file, read_parameters

RUN = config.get("run", "sample")
NOTEBOOKS = {name: entry for name, entry in notebook_list().items() if parameter_file(RUN, name)}
for name in NOTEBOOKS:
    read_parameters(RUN, name)  # a misspelt parameter fails here, before anything starts


def executed(name):
    return f"outputs/{RUN}/executed/{name}.ipynb"


rule all:
    input:
        [executed(name) for name in NOTEBOOKS],


for name, entry in NOTEBOOKS.items():

    rule:
        name:
            name
        input:
            notebook=str(notebook_path(name)),
            parameters=str(parameter_file(RUN, name)),
            before=[executed(other) for other in entry["after"] if other in NOTEBOOKS],
            code=[str(path) for path in code_files(name)],
        output:
            executed(name),
        threads: entry["threads"]
        resources:
            **entry["resources"],
        params:
            name=name,
        shell:
            f"{shlex.quote(sys.executable)} -m judgekit.workflow run {{params.name}} {RUN}"
