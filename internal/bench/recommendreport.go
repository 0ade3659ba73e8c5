package bench

import (
	"fmt"
	"strings"
)

// Recommend is recommendFeed over HTTP by one client: the first page of a new
// session each time, and the second page of a session.
type Recommend struct {
	People    int   `json:"people"`
	Posts     int   `json:"posts"`
	Likes     int   `json:"likes"`
	Followees int   `json:"followees"`
	Page      int   `json:"page"`
	First     *Read `json:"first_page"`
	Next      *Read `json:"second_page"`
}

// RecommendTrips are the round trips of recommendFeed with one page size.
type RecommendTrips struct {
	First       int `json:"first"`
	FirstRedis  int `json:"first_page_redis"`
	FirstRecord int `json:"first_page_record"`
	NextRedis   int `json:"next_page_redis"`
	NextRecord  int `json:"next_page_record"`
	ColdRedis   int `json:"cold_redis"`
	ColdRecord  int `json:"cold_record"`
}

func (r *Report) printRecommend(b *strings.Builder) {
	if m := r.Recommend; m != nil {
		fmt.Fprintf(b, "\nrecommendFeed(first: %d) over HTTP, one client, warm; %d people with %d likes and %d followees each, %d posts\n",
			m.Page, m.People, m.Likes, m.Followees, m.Posts)
		fmt.Fprintf(b, "                      p50 us   p99 us   p50 us of its bare commands   ratio\n")
		for _, row := range []struct {
			name string
			of   *Read
		}{{"first page", m.First}, {"second page", m.Next}} {
			fmt.Fprintf(b, "  %-16s %9.0f %8.0f   %10.0f (%d in %d trips) %9.2f\n",
				row.name, row.of.P50, row.of.P99, row.of.Bare, row.of.Commands, row.of.Trips, row.of.Ratio)
		}
	}
	if len(r.RecommendTrips) > 0 {
		fmt.Fprintf(b, "\nround trips a query       first page: Redis  record    next: Redis  record    cold: Redis  record\n")
		for _, t := range r.RecommendTrips {
			fmt.Fprintf(b, "  recommendFeed     %4d %19d %7d %14d %7d %14d %7d\n",
				t.First, t.FirstRedis, t.FirstRecord, t.NextRedis, t.NextRecord, t.ColdRedis, t.ColdRecord)
		}
	}
}
