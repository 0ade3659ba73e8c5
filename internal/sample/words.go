package sample

// handles are the people: trees, birds and rivers.
func handles() []string {
	return []string{
		"alder", "kestrel", "elbe", "rowan", "heron", "tagus", "linden", "wagtail", "loire", "juniper",
		"curlew", "niger", "hornbeam", "dipper", "mekong", "larch", "avocet", "paraguay", "whitebeam", "goldcrest",
		"yukon", "tamarisk", "nuthatch", "zambezi", "aspen", "lapwing", "drava", "sycamore", "siskin", "orinoco",
		"hawthorn", "redstart", "ganges", "spindle", "fieldfare", "volga", "medlar", "treecreeper", "tigris", "osier",
		"bittern", "murray", "cypress", "whimbrel", "irrawaddy", "baobab", "hoopoe", "tisza", "quince", "turnstone",
	}
}

func bios() []string {
	return []string{
		"Up before the first tram.", "Mostly rain, sometimes bread.", "Maps, mud and second breakfasts.",
		"Counts birds, loses count.", "Slow trains only.", "Repairs what others throw away.",
		"Reads on stairs.", "Knows three chords and a half.", "Looks at clouds for free.", "Soup in every season.",
	}
}

type subject struct {
	topics []string
	lines  []string
}

func subjects() []subject {
	return []subject{
		{[]string{"birds", "morning"}, []string{
			"two hundred starlings over the roof, and not one of them in a hurry",
			"a heron stood on the parked car and nobody dared to tell the owner",
			"the blackbird has learned the ring tone from next door 🐦",
			"counted eleven swifts at breakfast, which makes it summer",
		}},
		{[]string{"bread", "kitchen"}, []string{
			"the sourdough rose higher than the lid of the pot allows",
			"burnt the first loaf, ate it anyway, with much butter",
			"rye, water, salt, and forty hours of doing nothing 🍞",
			"whoever wrote \"knead until smooth\" had stronger arms than mine",
		}},
		{[]string{"cycling", "city"}, []string{
			"found a way through town that crosses only two large streets",
			"the new cycle lane ends at a lamp post, as they do",
			"42 km, three headwinds, one dog that wanted to race 🚲",
			"a puncture in front of the repair shop: nearly polite",
		}},
		{[]string{"garden", "patience"}, []string{
			"the beans are taller than I am and have started on the drainpipe",
			"planted garlic and will now forget where 🌱",
			"slugs: 14, lettuce: 0",
			"first tomato of the year, shared among five people",
		}},
		{[]string{"trains", "travel"}, []string{
			"slept through the mountains, woke up at the sea",
			"the dining car had real plates and a view of three borders",
			"missed the connection and found a much better café",
			"6 hours late, and the whole carriage knows each other now 🚆",
		}},
		{[]string{"weather", "sky"}, []string{
			"a rainbow stood in the car park for ten minutes and everybody stopped shouting",
			"fog so thick that the bus arrived before it was visible",
			"the first frost drew ferns on the window ❄️",
			"thunder in the north, laundry in the south, and me in between",
		}},
		{[]string{"books", "evening"}, []string{
			"finished a novel of 900 pages and miss all of them already",
			"the second-hand shop wraps its books in yesterday's crossword 📚",
			"read the last chapter first, regret nothing",
			"somebody wrote better endings into the margins of this library book",
		}},
		{[]string{"languages", "words"}, []string{
			"learned the word 木漏れ日 today: light that falls through leaves",
			"übermorgen and vorgestern are two words every language should borrow",
			"tried to explain \"saudade\" and ended up feeling it",
			"today's favourite word: гололёд, the ice that you see too late",
			"كل عام وأنتم بخير to everybody who starts a new year today",
		}},
		{[]string{"music", "neighbours"}, []string{
			"upstairs has moved from scales to something with a tune 🎻",
			"open window, somebody practises the same four bars, slowly getting there",
			"the brass band rehearses in the car park because of the echo",
			"found a piano in the waiting room, tuned it with the landlord's blessing",
		}},
		{[]string{"repair", "workshop"}, []string{
			"the toaster works again; there are two screws left over",
			"glued, clamped, waited, and the chair forgives me",
			"a radio from 1961 that needed nothing but a clean switch 📻",
			"sharpened every knife in the house, now everybody cooks carefully",
		}},
	}
}

func openings() []string {
	return []string{"", "", "", "Small news: ", "Today: ", "For the record, ", "Note to myself: ", "Unexpected: "}
}

func endings() []string {
	return []string{".", ".", ".", "!", ", as one does.", ". More tomorrow.", ". Ask me how I know."}
}

func answers() []string {
	return []string{
		"The same here, an hour later.", "Now I want to see that.", "Which street was it?", "This made my day 💚",
		"I would have done it the other way round.", "Bring some along next time!", "Mine never do that.",
		"Is there more of this?", "Exactly so.", "Saved for the weekend.", "こちらも同じです。", "Genau so war es hier auch.",
		"You forgot the best part.", "I was there and can confirm.", "Good morning to you too.",
	}
}

type spot struct {
	name     string
	lat, lon float64
}

func spots() []spot {
	return []spot{
		{"Lisbon", 38.72, -9.14},
		{"Berlin", 52.52, 13.40},
		{"Nairobi", -1.29, 36.82},
		{"New York", 40.78, -73.97},
		{"Kyoto", 35.01, 135.77},
		{"São Paulo", -23.55, -46.63},
		{"Tromsø", 69.65, 18.96},
		{"Wellington", -41.29, 174.78},
		{"Suva", -18.14, 178.44},
		{"Montréal", 45.50, -73.57},
		{"Istanbul", 41.01, 28.98},
		{"Hà Nội", 21.03, 105.85},
	}
}
