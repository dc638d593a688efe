"""The words of values: numbers, units, currencies, months, and what makes a bound."""

from __future__ import annotations

_NUMERALS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
_NUMERALS += " eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS = dict(zip(f"{_NUMERALS} {_TENS}".split(), (*range(1, 20), *range(20, 100, 10)), strict=True))
_ORDERED = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth"
_ORDERED += " fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
ORDINALS = {**dict(zip(_ORDERED.split(), range(1, 21), strict=True)), "twenty-first": 21}
SCALES = {"hundred": 1e2, "thousand": 1e3, "k": 1e3, "million": 1e6, "mn": 1e6, "mio": 1e6, "m": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12}  # fmt: skip
ROMAN = r"(?=[IVXLC])(?:C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
LABELS = (
    "chapter|section|clause|article|paragraph|part|appendix|annex|table|figure|page|step|level|floor|room|bus|tram|line"
    "|route|platform|gate|class|grade|group|volume|phase|stage|zone|unit|lesson|module"
)
MONTHS = "january february march april may june july august september october november december".split()
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
SEASONS = {"spring": (3, 5), "summer": (6, 8), "autumn": (9, 11), "fall": (9, 11), "winter": (12, 2)}
CENTURY_PARTS = {"early": (0.0, 0.4), "mid": (0.3, 0.7), "late": (0.6, 1.0)}
CURRENCIES = {
    **dict.fromkeys(("€", "eur", "euro", "euros"), "euro"),
    **dict.fromkeys(("$", "us$", "usd", "dollar", "dollars", "us dollars"), "dollar"),
    **dict.fromkeys(("£", "gbp", "pound", "pounds", "pounds sterling", "sterling"), "pound"),
    **dict.fromkeys(("chf", "franc", "francs", "swiss francs", "sfr."), "franc"),
    **dict.fromkeys(("¥", "jpy", "yen"), "yen"),
    **dict.fromkeys(("nok", "sek", "dkk", "kr", "kr.", "kroner", "krone", "kronor"), "krone"),
    **dict.fromkeys(("₹", "inr", "rupees"), "rupee"),
    **dict.fromkeys(("pln", "zł", "zloty"), "zloty"),
    **dict.fromkeys(("cny", "yuan", "rmb"), "yuan"),
    **dict.fromkeys(("cent", "cents", "pence"), "cent"),
}
# of each kind, the names of a unit and its size in the base unit of the kind
_SIZES: dict[str, dict[str, float]] = {
    "length": {
        "m metre metres meter meters": 1,
        "km kilometre kilometres kilometer kilometers": 1000,
        "cm centimetre centimetres centimeter centimeters": 0.01,
        "mm millimetre millimetres millimeter millimeters": 0.001,
        "ft foot feet": 0.3048,
        "inch inches": 0.0254,
        "yard yards yd": 0.9144,
        "mile miles mi": 1609.344,
    },
    "mass": {
        "g gram grams gramme grammes": 1,
        "mg milligram milligrams": 0.001,
        "kg kilo kilos kilogram kilograms kilogramme kilogrammes": 1000,
        "t tonne tonnes ton tons": 1e6,
        "lb lbs": 453.59237,
        "oz ounce ounces": 28.349523,
    },
    "volume": {
        "l L litre litres liter liters": 1,
        "ml millilitre millilitres": 0.001,
        "cl": 0.01,
        "dl": 0.1,
        "hl hectolitre hectolitres": 100,
        "m³ m3": 1000,
        "gallon gallons": 3.785411784,
        "pint pints": 0.473176473,
    },
    "area": {
        "m² m2 sqm": 1,
        "km² km2": 1e6,
        "ha hectare hectares": 1e4,
        "acre acres": 4046.8564,
    },
    "data": {
        "B byte bytes": 1,
        "kB KB kilobyte kilobytes": 1e3,
        "MB megabyte megabytes": 1e6,
        "GB gigabyte gigabytes": 1e9,
        "TB terabyte terabytes": 1e12,
        "KiB": 1024,
        "MiB": 1024**2,
        "GiB": 1024**3,
    },
    "power": {
        "W watt watts": 1,
        "kW kilowatt kilowatts": 1e3,
        "MW megawatt megawatts": 1e6,
        "GW gigawatt gigawatts": 1e9,
    },
    "energy": {
        "J joule joules": 1,
        "kJ": 1e3,
        "MJ": 1e6,
        "Wh": 3600,
        "kWh": 3.6e6,
        "MWh": 3.6e9,
        "GWh": 3.6e12,
        "kcal": 4184,
    },
    "speed": {
        "km/h kph": 1 / 3.6,
        "m/s": 1,
        "mph": 0.44704,
        "knot knots": 0.514444,
    },
    "voltage": {
        "V volt volts": 1,
        "mV": 1e-3,
        "kV": 1e3,
    },
    "current": {
        "A amp amps ampere amperes": 1,
        "mA": 1e-3,
    },
    "frequency": {
        "Hz hertz": 1,
        "kHz": 1e3,
        "MHz": 1e6,
        "GHz": 1e9,
    },
    "pressure": {
        "Pa": 1,
        "kPa": 1e3,
        "bar": 1e5,
        "mbar hPa": 100,
        "psi": 6894.757,
    },
    "share": {
        "% percent": 1,
        "‰": 0.1,
    },
    "duration": {
        "ms millisecond milliseconds": 0.001,
        "s sec second seconds": 1,
        "min minute minutes": 60,
        "h hour hours hrs": 3600,
        "day days": 86400,
        "week weeks": 604800,
        "fortnight fortnights": 1209600,
        "month months": 2629746,
        "year years yrs": 31556952,
        "decade decades": 315569520,
    },
}
# name -> kind, size in the base unit of that kind, and what is added
UNITS: dict[str, tuple[str, float, float]] = {
    **{
        name: (kind, size, 0.0)
        for kind, sizes in _SIZES.items()
        for names, size in sizes.items()
        for name in names.split()
    },
    "per cent": ("share", 1.0, 0.0),
    **dict.fromkeys(
        ("°C", "° C", "degrees", "degrees Celsius", "degrees celsius", "degree"), ("temperature", 1.0, 0.0)
    ),
    **dict.fromkeys(("°F", "degrees Fahrenheit", "degrees fahrenheit"), ("temperature", 5 / 9, -160 / 9)),
    "quarter": ("duration", 7889238.0, 0.0),
}
MORE = ("more than", "over", "above", "greater than", "exceeding", "exceeds", "longer than", "higher than", "larger than", "bigger than", "heavier than", "warmer than", "hotter than", "older than", "taller than", "wider than", "deeper than", "faster than")  # fmt: skip
LESS = ("less than", "under", "below", "fewer than", "cheaper than", "shorter than", "lower than", "smaller than", "lighter than", "colder than", "cooler than", "younger than", "narrower than", "slower than")  # fmt: skip
