"""How the questions of the tiny tasks are put: wordings to train on, and others that are held out.

A held-out wording uses words that training wordings use, too, in sentences of its own: a model with a closed
vocabulary can read it, and has never seen it.
"""

TRAIN = {
    "copying": (
        "repeat these words : {words}",
        "say the same words again : {words}",
        "copy the list {words}",
        "write {words} once more",
    ),
    "exchange": (
        "say these words in the {order} order : {words}",
        "write {words} in the {order} order",
        "the list is {words} . repeat it in the {order} order",
        "in the {order} order , please : {words}",
    ),
    "membership": (
        "name a word that is in the list {words}",
        "which word is one of these : {words}",
        "take one of {words}",
        "here is a list : {words} . give a word that is in it",
    ),
    "exclusion": (
        "name a word that is not in the list {words}",
        "which word is not one of these : {words}",
        "say a word , but not one of {words}",
        "here is a list : {words} . give a word that is not in it",
    ),
    "place": (
        "which word comes {place} in {words}",
        "name the {place} word of the list {words}",
        "the words are {words} . which one is {place}",
        "give the {place} of these : {words}",
    ),
    "lookup": (
        "{table} . what comes with {key}",
        "here is a table : {table} . what stands by {key}",
        "the table is {table} . give the word by {key}",
        "find {key} in the table {table}",
    ),
    "kind": (
        "name some {kind}",
        "give a word for a {kind}",
        "write words , each a {kind}",
        "which word is a {kind}",
    ),
    "containing": (
        "write words with {word} in them",
        "use the word {word}",
        "give a list with {word} in it",
        "say words , one of them {word}",
    ),
    "avoiding": (
        "write words without {word} in them",
        "do not use the word {word}",
        "give a list without {word} in it",
        "say words , not one of them {word}",
    ),
    "length": (
        "write {number} words",
        "give a list of {number} words",
        "say words , {number} of them",
        "use {number} words , please",
    ),
    "ordering": (
        "put these letters in order from {way} : {letters}",
        "write {letters} from {way}",
        "the letters are {letters} . give them in order from {way}",
        "from {way} , please : {letters}",
    ),
    "counting": (
        "how many times is the letter {letter} in {row}",
        "here is a row of letters : {row} . how many {letter}",
        "find each {letter} in {row} . how many",
        "the row is {row} . how many times is {letter} in it",
    ),
    "arithmetic": (
        "what is {sum}",
        "find {sum}",
        "give {sum} , please",
        "how many is {sum}",
    ),
}

HELD_OUT = {
    "copying": ("here is a list : {words} . say it again", "write these words again , please : {words}"),
    "exchange": ("the words are {words} . say them in the {order} order", "give {words} in the {order} order"),
    "membership": ("the list is {words} . name one of the words in it", "give one of these words : {words}"),
    "exclusion": ("the list is {words} . name a word that is not in it", "give a word , not one of these : {words}"),
    "place": ("here is a list : {words} . name the {place} word", "of {words} , say the {place}"),
    "lookup": ("what comes with {key} in the table {table}", "here is {table} . find the word by {key}"),
    "kind": ("say some words for a {kind}", "give some {kind} , please"),
    "containing": ("give words , one of them {word}", "write a list with the word {word}"),
    "avoiding": ("give words , but do not use {word}", "write a list without the word {word}"),
    "length": ("the list is {number} words , write it", "give {number} words"),
    "ordering": ("here is a row of letters : {letters} . write it from {way}", "give {letters} in order from {way}"),
    "counting": ("how many {letter} in the row {row}", "the letters are {row} . how many of them are {letter}"),
    "arithmetic": ("say what {sum} is", "please find {sum}"),
}
