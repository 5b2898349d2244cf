"""Families about quantities: arithmetic, dates and units.

In each template ``solve`` takes the intermediate value of the working. The true value gives the right solution, a
slip gives a wrong one whose working is consistent with it.
"""

from datetime import date, timedelta
from random import Random

from judgekit.data.sample.problems import PEOPLE, Problem, Solution

THINGS = ("pencils", "notebooks", "oranges", "mugs", "candles", "postcards", "tulips", "batteries")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ZH_DAYS = "一二三四五六日"
# fmt: off
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)
# fmt: on
UNITS = (  # unit, asked unit, factor, neighbouring unit, its factor
    ("kilometre", "metres", 1000, "centimetres", 100_000),
    ("kilogram", "grams", 1000, "milligrams", 1_000_000),
    ("litre", "millilitres", 1000, "centilitres", 100),
    ("hour", "minutes", 60, "seconds", 3600),
    ("week", "days", 7, "hours", 168),
    ("day", "hours", 24, "minutes", 1440),
)


def change(rng: Random) -> Problem:
    """Money back after a purchase, in English or (one in four) Chinese; the neighbour gives the price."""
    n, price, name, thing = rng.randint(3, 9), rng.randint(2, 12), rng.choice(PEOPLE), rng.choice(THINGS)
    cost = n * price
    note = next(note for note in (50, 100, 200) if note > cost + 12)
    slips = (cost + price, cost + rng.choice((-1, 1, 2, 10)), cost - price)
    if rng.random() < 0.25:
        name, thing = rng.choice(("小明", "小红", "王芳", "李雷")), rng.choice(("支铅笔", "本练习册", "个橙子"))

        def solve_zh(paid: int) -> Solution:
            steps = (f"{n}{thing}共需{n} × {price} = {paid}元。", f"{note} − {paid} = {note - paid}。")
            return Solution(f"{note - paid}元", steps)

        wording = f"{name}买了{n}{thing}，每{thing[0]}{price}元，付了{note}元，应找回多少元？"
        total, frames, language = ("一共花了{}。", "总价是{}。"), ("应找回{}。", "所以找回的钱是{}。"), "zh"
        neighbour = Solution(f"{cost}元", (), total)
        return Problem(
            (n, price, note),
            (wording,),
            (solve_zh(cost),),
            tuple(map(solve_zh, slips)),
            neighbour,
            frames,
            (),
            language,
        )

    def solve(paid: int) -> Solution:
        steps = (f"{n} {thing} at ${price} each cost {n} × ${price} = ${paid}.", f"${note} − ${paid} = ${note - paid}.")
        return Solution(f"${note - paid}", steps)

    return Problem(
        (n, price, note),
        (
            f"{name} buys {n} {thing} at ${price} each and pays with a ${note} note. How much change is due?",
            f"At the market, {name} picks {n} {thing} for ${price} each and hands over ${note}. What is the change?",
            f"How much change does {name} get from ${note} after buying {n} {thing} that cost ${price} apiece?",
        ),
        (solve(cost),),
        tuple(map(solve, slips)),
        Solution(f"${cost}", (), (f"The {thing} cost {{}} altogether.", "The total price is {}.")),
        ("The change is {}.", f"{name} gets {{}} back.", "That leaves {} in change."),
    )


def first_and_left(rng: Random) -> Problem:
    """A question in two parts, so that a response can be right as far as it goes and still incomplete."""
    boxes, each, name, thing = rng.randint(3, 9), rng.randint(6, 15), rng.choice(PEOPLE), rng.choice(THINGS)
    total, given = boxes * each, rng.randint(5, boxes * each - 4)

    def solve(first: int) -> Solution:
        steps = (f"{boxes} boxes of {each} make {boxes} × {each} = {first}.", f"{first} − {given} = {first - given}.")
        return Solution(f"{first} at first, {first - given} left", steps)

    return Problem(
        (boxes, each, given),
        (
            f"{name} has {boxes} boxes of {each} {thing} and gives away {given}. How many {thing} were there at first, "
            "and how many are left?",
            f"There are {boxes} boxes with {each} {thing} in each. {name} then gives away {given} of them. State both "
            "the number at first and the number left.",
        ),
        (solve(total),),
        tuple(map(solve, (total + each, total + rng.choice((1, 2, 10)), total - each))),
        Solution(f"{given}", (), (f"{name} gave away {{}} of them.", "The number given away is {}.")),
        ("So there were {}.", "In short: {}."),
        (Solution(f"{total} at first", (f"{boxes} × {each} = {total}.",)), Solution(f"{total - given} left")),
    )


def constant_speed(rng: Random) -> Problem:
    """Distance at a constant speed; the neighbour gives the speed."""
    speed, (hours, later) = rng.randint(11, 95), rng.sample(range(2, 10), 2)
    vehicle, far = rng.choice(("train", "cyclist", "ferry", "delivery van", "coach")), speed * hours

    def solve(rate: int) -> Solution:
        steps = (
            f"{far} km ÷ {hours} = {rate} km per hour.",
            f"In {later} hours: {rate} × {later} = {rate * later} km.",
        )
        return Solution(f"{rate * later} km", steps)

    return Problem(
        (speed, hours, later),
        (
            f"A {vehicle} covers {far} km in {hours} hours. How far does it go in {later} hours at the same speed?",
            f"In {hours} hours a {vehicle} travels {far} km. Keeping that speed, how far does it go in {later} hours?",
        ),
        (solve(speed),),
        tuple(map(solve, (speed + 1, speed - rng.choice((1, 2)), speed + 10))),
        Solution(f"{speed} km/h", (), (f"The {vehicle} is moving at {{}}.", "Its speed is {}.")),
        ("It covers {}.", "The distance is {}.", f"The {vehicle} goes {{}}."),
    )


def discount(rng: Random) -> Problem:
    """Price after a discount; the neighbour gives the discount."""
    price, percent = 20 * rng.randint(2, 20), 5 * rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 9))
    item, off = rng.choice(("coat", "lamp", "bicycle", "radio", "rucksack", "desk")), price * percent // 100

    def solve(cut: int) -> Solution:
        return Solution(
            f"${price - cut}", (f"{percent}% of ${price} is ${cut}.", f"${price} − ${cut} = ${price - cut}.")
        )

    return Problem(
        (price, percent),
        (
            f"A {item} costs ${price} and is reduced by {percent}%. What does it cost now?",
            f"What is the sale price of a {item} marked at ${price} with {percent}% off?",
        ),
        (solve(off),),
        tuple(map(solve, (off + 2, off + price // 20, off - 1))),
        Solution(f"${off}", (), (f"You save {{}} on the {item}.", "The discount comes to {}.")),
        (f"The {item} now costs {{}}.", "The new price is {}."),
    )


def rectangle(rng: Random) -> Problem:
    """Area or perimeter; the neighbour gives the other."""
    # 3 × 6 is left out: its area and perimeter are the same number.
    width, height = rng.choice([(w, h) for w in range(4, 25) for h in range(4, 25) if w != h])
    place = rng.choice(("garden", "room", "playground", "poster", "courtyard"))
    area = ("area", f"{width} × {height}", width * height, "square metres")
    rim = ("perimeter", f"2 × ({width} + {height})", 2 * (width + height), "metres")
    (asked, formula, right, unit), other = (area, rim) if rng.random() < 0.5 else (rim, area)

    def solve(value: int) -> Solution:
        steps = (f"The {place} measures {width} m by {height} m.", f"{formula} = {value}.")
        return Solution(f"{value} {unit}", steps)

    return Problem(
        (min(width, height), max(width, height), asked),
        (
            f"A rectangular {place} is {width} m wide and {height} m long. What is its {asked}?",
            f"What is the {asked} of a rectangular {place} {width} m wide and {height} m long?",
        ),
        (solve(right),),
        tuple(map(solve, (right + 2, right - rng.choice((1, 4)), right + 10))),
        Solution(f"{other[2]} {other[3]}", (f"{other[1]} = {other[2]}.",), (f"The {other[0]} is {{}}.",)),
        (f"The {asked} is {{}}.", f"So the {asked} of the {place} is {{}}."),
    )


def weekday(rng: Random) -> Problem:
    """Day of the week after some days, in English or (one in four) Chinese; the neighbour counts backwards."""
    start, n, chinese = rng.randrange(7), rng.choice([n for n in range(8, 80) if n % 7]), rng.random() < 0.25

    def solve(count: int) -> Solution:
        day = (start + count) % 7
        if chinese:
            return Solution(f"星期{ZH_DAYS[day]}", (f"{n}天是{n // 7}个星期零{count % 7}天。",))
        steps = (f"Whole weeks change nothing, and {n} days leave a remainder of {count % 7}.",)
        return Solution(DAYS[day], (*steps, f"Count on by {count % 7} from {DAYS[start]}."))

    wordings: tuple[str, ...]
    earlier: tuple[str, ...]
    wordings, frames, earlier = (
        (
            f"Today is {DAYS[start]}. What day of the week will it be in {n} days?",
            f"If a parcel sent on a {DAYS[start]} takes {n} days, on which day of the week does it arrive?",
        ),
        ("It will be a {}.", "That day is a {}."),
        (f"Going back {n} days, it was a {{}}.", "It was a {} then."),
    )
    if chinese:
        wordings = (f"今天是星期{ZH_DAYS[start]}，再过{n}天是星期几？",)
        frames, earlier = ("那天是{}。", "答案是{}。"), (f"{n}天以前是{{}}。",)
    wrong = tuple(map(solve, (n + 1, n - 1, n + 2)))
    neighbour = Solution(solve(-n).answer, (), earlier)
    return Problem((start, n), wordings, (solve(n),), wrong, neighbour, frames, (), "zh" if chinese else "en")


def end_time(rng: Random) -> Problem:
    """Time of day after a duration; the neighbour counts backwards."""
    start, length = rng.randint(8 * 12, 18 * 12) * 5, rng.randint(65, 275)
    what = rng.choice(("film", "concert", "workshop", "match", "lecture"))

    def clock(minutes: int) -> str:
        return f"{minutes // 60:02d}:{minutes % 60:02d}"

    def solve(end: int) -> Solution:
        steps = (f"{length} minutes are {length // 60} h {length % 60} min.", f"Add them to {clock(start)}.")
        return Solution(clock(end), steps)

    end = start + length
    return Problem(
        (start, length),
        (
            f"A {what} starts at {clock(start)} and lasts {length} minutes. When does it end?",
            f"At what time does a {what} of {length} minutes end if it begins at {clock(start)}?",
        ),
        (solve(end),),
        tuple(map(solve, (end + 60, end - 10, end + 5))),
        Solution(clock(start - length), (), (f"To be over by {clock(start)}, it must begin at {{}}.",)),
        ("It ends at {}.", f"The {what} is over at {{}}."),
    )


def date_after(rng: Random) -> Problem:
    """Date some days later; the neighbour goes back."""
    start, n = date(2025, 1, 1) + timedelta(rng.randrange(700)), rng.randint(10, 75)

    def written(days: int) -> str:
        day = start + timedelta(days)
        return f"{day.day} {MONTHS[day.month - 1]} {day.year}"

    def solve(days: int) -> Solution:
        return Solution(written(days), (f"Start from {written(0)} and count {n} days forward, month by month.",))

    return Problem(
        (start.toordinal(), n),
        (
            f"Which date is {n} days after {written(0)}?",
            f"A permit is issued on {written(0)} and expires {n} days later. On which date does it expire?",
        ),
        (solve(n),),
        tuple(map(solve, (n + 1, n - 1, n + 10))),
        Solution(written(-n), (), (f"Counting back {n} days gives {{}}.", "Earlier by that much is {}.")),
        ("That is {}.", "The date is {}."),
    )


def convert(rng: Random) -> Problem:
    """Conversion by a whole factor; wrong by a factor or a slip, the neighbour in another unit."""
    (unit, asked, factor, other, other_factor), n = rng.choice(UNITS), rng.randint(2, 40)

    def solve(rate: int) -> Solution:
        return Solution(f"{n * rate} {asked}", (f"One {unit} is {rate} {asked}.", f"{n} × {rate} = {n * rate}."))

    return Problem(
        (unit, n),
        (
            f"Convert {n} {unit}s to {asked}.",
            f"How many {asked} are there in {n} {unit}s?",
            f"Express {n} {unit}s in {asked}, please.",
        ),
        (solve(factor),),
        tuple(map(solve, (factor * 10, factor // 10 * 9 or 5, factor + 1))),
        Solution(f"{n * other_factor} {other}", (), (f"{n} {unit}s are {{}}.", "That is {}.")),
        (f"{n} {unit}s are {{}}.", "That is {}."),
    )


def fahrenheit(rng: Random) -> Problem:
    """Celsius to Fahrenheit; the neighbour is in kelvin."""
    celsius = 5 * rng.randint(1, 40)
    scaled = celsius * 9 // 5

    def solve(offset: int) -> Solution:
        steps = (f"{celsius} × 9/5 = {scaled}.", f"{scaled} + {offset} = {scaled + offset}.")
        return Solution(f"{scaled + offset} °F", steps)

    return Problem(
        (celsius,),
        (
            f"What is {celsius} °C in degrees Fahrenheit?",
            f"A thermometer shows {celsius} °C. Give the temperature in degrees Fahrenheit.",
        ),
        (solve(32),),
        tuple(map(solve, (30, 23, 0))),
        Solution(f"{celsius + 273} K", (), ("On the absolute scale this is {}.", "It is about {}.")),
        ("It is {}.", f"{celsius} °C corresponds to {{}}."),
    )


def mixed_minutes(rng: Random) -> Problem:
    """Hours and minutes in minutes; the neighbour in seconds."""
    hours, minutes = rng.randint(2, 11), rng.randint(5, 55)

    def solve(rate: int) -> Solution:
        first, total = hours * rate, hours * rate + minutes
        return Solution(f"{total} minutes", (f"{hours} hours are {first} minutes.", f"{first} + {minutes} = {total}."))

    return Problem(
        (hours, minutes),
        (
            f"How many minutes are {hours} hours and {minutes} minutes?",
            f"A hike takes {hours} hours and {minutes} minutes. How many minutes is that in all?",
        ),
        (solve(60),),
        tuple(map(solve, (100, 50, 61))),
        Solution(f"{(hours * 60 + minutes) * 60} seconds", (), ("That amounts to {}.", "Altogether it is {}.")),
        ("That is {}.", "In all it is {}."),
    )
