"""What is in a set, what is odd about it, and what that does to a score: tidy tables and findings."""

from judgekit.studies.audit.artefacts import artefact_findings
from judgekit.studies.audit.clean_labels import CleanLabel, cleaned, load_clean_labels, suggest
from judgekit.studies.audit.clustering import clustering_findings, design_effects
from judgekit.studies.audit.contradictions import contradicted, contradiction_findings
from judgekit.studies.audit.disagreement import disagreement_findings, disputed
from judgekit.studies.audit.findings import Finding, effect_rows, finding_numbers, finding_table, summary_table
from judgekit.studies.audit.overlap import overlap_findings, overlap_numbers, overlap_table
from judgekit.studies.audit.repair import leaderboards, repair_numbers, repair_rows, rescored
from judgekit.studies.audit.repeats import repeat_findings
from judgekit.studies.audit.sets import audit_set, code_findings, reasons_of
from judgekit.studies.audit.shape import describe_set, label_counts
from judgekit.studies.audit.suspects import (
    detector_numbers,
    have_panel,
    held_out_people,
    plant_and_find,
    suspect_labels,
)
from judgekit.studies.audit.texts import text_findings

__all__ = [
    "CleanLabel",
    "Finding",
    "artefact_findings",
    "audit_set",
    "cleaned",
    "clustering_findings",
    "code_findings",
    "contradicted",
    "contradiction_findings",
    "describe_set",
    "design_effects",
    "detector_numbers",
    "disagreement_findings",
    "disputed",
    "effect_rows",
    "finding_numbers",
    "finding_table",
    "have_panel",
    "held_out_people",
    "label_counts",
    "leaderboards",
    "load_clean_labels",
    "overlap_findings",
    "overlap_numbers",
    "overlap_table",
    "plant_and_find",
    "reasons_of",
    "repair_numbers",
    "repair_rows",
    "repeat_findings",
    "rescored",
    "suggest",
    "summary_table",
    "suspect_labels",
    "text_findings",
]
