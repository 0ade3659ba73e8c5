// Package geo is the geometry of nearbyFeed: distances on a sphere, and a
// partition of that sphere into cells such that a reader's query is one range
// on the one cell in which the reader stands, because each post lies in every
// cell that the disc of [MaxRadius] around it touches.
//
// The cells are geohash cells. Their precision depends on the latitude alone,
// so that a disc touches at most 16 of them although meridians converge:
//
//	|latitude|               geohash  height x width in km
//	 0        to 63.28125    5        4.9 x 4.9 (equator) to 2.2
//	63.28125  to 87.1875     4        19.5 x 17.6 to 1.9
//	87.1875   to 88.59375    3        156 x 7.7 to 3.8
//	88.59375  to 90          one cell for all longitudes, 156 around the pole
//
// Each limit is a border of the coarser cells, so that the bands fit without
// gap or overlap. As in geohash itself a cell owns its southern and its western
// border; the pole belongs to its cap, and longitude 180 is longitude -180.
//
// Positions are valid when the latitude is -90 to 90 and the longitude -180 to
// 180; callers check that. What is not valid (NaN and infinity too) lies in no
// cell and touches none.
package geo
