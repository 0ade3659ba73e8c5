package config

// Workers say how much one process delivers at a time.
type Workers struct {
	SmallExecutors int
	BulkExecutors  int
	SmallPosts     int
	BulkPosts      int
}

func addWorkers(s *Set, c *Workers) {
	s.Group("The workers")
	Number(s, &c.SmallExecutors, "small-executors", 2, 1, 256,
		"Tasks of up to 1,000 inboxes that this process writes at a time for posts of small authors.")
	Number(s, &c.BulkExecutors, "bulk-executors", 4, 1, 256,
		"The same for the posts of authors from -big-author-followers on.")
	Number(s, &c.SmallPosts, "small-posts", 8, 2, 1024,
		"Posts of small authors that this process has under way at a time.")
	Number(s, &c.BulkPosts, "bulk-posts", 4, 2, 1024,
		"Posts of big authors that this process has under way at a time.")
}
