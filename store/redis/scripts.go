package redis

import (
	"crypto/sha1" //nolint:gosec // the name that Redis gives a script, no secret
	"encoding/hex"
)

// script is a Lua script with the hash that Redis knows it by.
type script struct {
	source, hash string
}

func newScript(source string) script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // the name that Redis gives a script, no secret
	return script{source: source, hash: hex.EncodeToString(sum[:])}
}

// scripts are all that the store calls.
type scripts struct {
	fillRelations, releaseRelations           script
	openList, mergeList, commitList, trimList script
	holdDetails, fillDetails, releaseDetails  script
	dropLease, removeMarks, pruneActive       script
	openCell, mergeCell, addToCells           script
	endBoards, takeUnlearned, dropUnlearned   script
}

func newScripts() scripts {
	return scripts{
		fillRelations:    newScript(fillRelationsLua),
		releaseRelations: newScript(releaseRelationsLua),
		openList:         newScript(floorLua + openListLua),
		mergeList:        newScript(floorLua + mergeListLua),
		commitList:       newScript(floorLua + commitListLua),
		trimList:         newScript(floorLua + trimListLua),
		holdDetails:      newScript(holdDetailsLua),
		fillDetails:      newScript(fillDetailsLua),
		releaseDetails:   newScript(releaseDetailsLua),
		dropLease:        newScript(dropLeaseLua),
		removeMarks:      newScript(removeMarksLua),
		pruneActive:      newScript(pruneActiveLua),
		openCell:         newScript(cellLua + openCellLua),
		mergeCell:        newScript(cellLua + mergeCellLua),
		addToCells:       newScript(cellLua + addToCellsLua),
		endBoards:        newScript(endBoardsLua),
		takeUnlearned:    newScript(takeUnlearnedLua),
		dropUnlearned:    newScript(dropUnlearnedLua),
	}
}

func (s *scripts) all() []script {
	return []script{
		s.fillRelations, s.releaseRelations,
		s.openList, s.mergeList, s.commitList, s.trimList,
		s.holdDetails, s.fillDetails, s.releaseDetails,
		s.dropLease, s.removeMarks, s.pruneActive,
		s.openCell, s.mergeCell, s.addToCells,
		s.endBoards, s.takeUnlearned, s.dropUnlearned,
	}
}

// ----- relations -----

// fillRelationsLua stores relations if their version still stands.
//
//	KEYS    1 version  2 relations
//	ARGV    1 version that was read  2 value  3 TTL in ms
//	answer  1 stored, 0 not
const fillRelationsLua = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1
`

// releaseRelationsLua gives relations a new version, unless another mutation
// holds them. A version that stands, or none, is replaced too: it was made
// after our hold was lost, maybe before our write, and proves nothing.
//
//	KEYS    1 version
//	ARGV    1 our hold  2 new version  3 TTL in ms
//	answer  1 a new version, 0 another's hold stands
const releaseRelationsLua = `
local cur = redis.call('GET', KEYS[1])
if cur and string.sub(cur, 1, 1) == 'p' and cur ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
`

// ----- lists -----

// floorLua is the start of the scripts about lists. A floor is the one member
// with the score +inf: f|at|version|epoch|generation|nonce. The nonce makes
// each floor different from all before it, so that comparing floors tells
// whether anything but additions happened in between.
//
//nolint:dupword // that is how Lua ends nested blocks
const floorLua = `
local function floor(key)
  return redis.call('ZREVRANGEBYSCORE', key, '+inf', '+inf')[1]
end
local function parse(raw)
  return string.match(raw, '^f|(-?%d+)|([^|]*)|(-?%d+)|(-?%d+)|')
end
local function replace(key, raw)
  local old = redis.call('ZREVRANGEBYSCORE', key, '+inf', '+inf')
  redis.call('ZADD', key, '+inf', raw)
  for _, m in ipairs(old) do
    if m ~= raw then redis.call('ZREM', key, m) end
  end
end
local function add(key, first)
  for i = first, #ARGV, 1000 do
    redis.call('ZADD', key, unpack(ARGV, i, math.min(i + 999, #ARGV)))
  end
end
`

// openListLua makes a version if there is none, and a floor that nobody
// believes if there is none: a list that is lost between opening and merging
// is then noticed, even if it has entries again.
//
//	KEYS    1 list  2 version
//	ARGV    1 new version  2 its TTL in ms  3 floor of a stub  4 TTL of a stub in ms
//	answer  {version, raw floor, number of entries}
//
//nolint:dupword // that is how Lua ends nested blocks
const openListLua = `
local ver = redis.call('GET', KEYS[2])
if not ver then
  ver = ARGV[1]
  redis.call('SET', KEYS[2], ver, 'PX', ARGV[2])
end
local raw = floor(KEYS[1])
if not raw then
  raw = ARGV[3]
  redis.call('ZADD', KEYS[1], '+inf', raw)
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
end
return {ver, raw, redis.call('ZCARD', KEYS[1]) - 1}
`

// mergeListLua adds entries and sets the floor, if nobody came between.
//
//	KEYS    1 list  2 version
//	ARGV    1 version  2 raw floor, both as opened  3 new floor  4 TTL in ms
//	        5... score, member
//	answer  1 merged, 0 not
const mergeListLua = `
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
if (floor(KEYS[1]) or '') ~= ARGV[2] then return 0 end
replace(KEYS[1], ARGV[3])
add(KEYS[1], 5)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
`

// commitListLua ends a mutation's hold on a list.
//
//	KEYS    1 list  2 version
//	ARGV    1 our hold  2 version before it, '' for none  3 new version
//	        4 its TTL in ms  5 lowest floor  6 generation  7 nonce
//	        8... score, member
//	answer  2 committed, 1 the list has a new version and is invalid,
//	        0 another's hold stands
const commitListLua = `
local cur = redis.call('GET', KEYS[2])
if cur and string.sub(cur, 1, 1) == 'p' and cur ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
if cur ~= ARGV[1] or ARGV[2] == '' then return 1 end
local raw = floor(KEYS[1])
if not raw then return 1 end
local at, ver, epoch, gen = parse(raw)
if not at or ver ~= ARGV[2] or gen ~= ARGV[6] then return 1 end
if tonumber(ARGV[5]) > tonumber(at) then at = ARGV[5] end
replace(KEYS[1], 'f|' .. at .. '|' .. ARGV[3] .. '|' .. epoch .. '|' .. gen .. '|' .. ARGV[7])
add(KEYS[1], 8)
return 2
`

// trimListLua cuts a list to its newest entries. A list without a floor gets
// one that nobody believes: whoever is about to merge into it starts over.
//
//	KEYS    1 list
//	ARGV    1 keep  2 slack  3 nonce
//	answer  the number of entries that were cut
const trimListLua = `
local raw = floor(KEYS[1])
local n = redis.call('ZCARD', KEYS[1])
if raw then n = n - 1 end
local keep = tonumber(ARGV[1])
if n <= keep + tonumber(ARGV[2]) then return 0 end
local cut = n - keep
local top = redis.call('ZRANGE', KEYS[1], cut - 1, cut - 1, 'WITHSCORES')
local low = string.format('%.0f', tonumber(top[2]) + 1)
local at, ver, epoch, gen
if raw then at, ver, epoch, gen = parse(raw) end
if not at then at, ver, epoch, gen = low, '', '0', '-1' end
if tonumber(low) > tonumber(at) then at = low end
replace(KEYS[1], 'f|' .. at .. '|' .. ver .. '|' .. epoch .. '|' .. gen .. '|' .. ARGV[3])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, cut - 1)
return cut
`

// ----- details -----

// The scripts on details take any number of ids, each with two keys, whose
// slots must be the same in a Cluster. Each id is for itself.

// holdDetailsLua drops values, but no tombstones, and takes their leases for a
// mutation. Where another mutation holds one, the hold says so: then neither
// knows what the record holds in the end, and no value is stored at its end.
//
//	KEYS    value, lease, ...
//	ARGV    1 token  2 TTL in ms
//	answer  1
const holdDetailsLua = `
for i = 1, #KEYS, 2 do
  local v = redis.call('GET', KEYS[i])
  if v and string.sub(v, 1, 1) ~= 'T' then redis.call('DEL', KEYS[i]) end
  local cur = redis.call('GET', KEYS[i + 1])
  local kind = 'p'
  if cur and string.sub(cur, 2) == ARGV[1] then
    kind = string.sub(cur, 1, 1) -- ours already
  elseif cur and string.sub(cur, 1, 1) ~= 'l' then
    kind = 'q'
  end
  redis.call('SET', KEYS[i + 1], kind .. ARGV[1], 'PX', ARGV[2])
end
return 1
`

// fillDetailsLua stores those values whose lease stands, and ends the leases.
//
//	KEYS    value, lease, ...
//	ARGV    1 the lease as taken  2 TTL in ms  3... values
//	answer  1
//
//nolint:dupword // that is how Lua ends nested blocks
const fillDetailsLua = `
for i = 1, #KEYS, 2 do
  if redis.call('GET', KEYS[i + 1]) == ARGV[1] then
    redis.call('DEL', KEYS[i + 1])
    local v = redis.call('GET', KEYS[i])
    if not v or string.sub(v, 1, 1) ~= 'T' then
      redis.call('SET', KEYS[i], ARGV[2 + (i + 1) / 2], 'PX', ARGV[2])
    end
  end
end
return 1
`

// releaseDetailsLua ends a mutation's hold on values: a tombstone is always
// set, a value only if nobody else held it at the same time. The lease goes
// too, be it ours or a reader's that was taken after ours was lost and maybe
// before the record was written. Another mutation's hold stays, but is told
// that we came between.
//
//	KEYS    value, lease, ...
//	ARGV    1 token  2 TTL of a value in ms  3 TTL of a hold in ms
//	        4... values or tombstones, '' for none
//	answer  1
//
//nolint:dupword // that is how Lua ends nested blocks
const releaseDetailsLua = `
for i = 1, #KEYS, 2 do
  local cur = redis.call('GET', KEYS[i + 1]) or ''
  local kind, ours = string.sub(cur, 1, 1), string.sub(cur, 2) == ARGV[1]
  if (kind == 'p' or kind == 'q') and not ours then
    redis.call('SET', KEYS[i + 1], 'q' .. string.sub(cur, 2), 'PX', ARGV[3])
  else
    redis.call('DEL', KEYS[i + 1])
  end
  local value = ARGV[3 + (i + 1) / 2]
  local v = redis.call('GET', KEYS[i])
  local gone = v and string.sub(v, 1, 1) == 'T'
  if string.sub(value, 1, 1) == 'T' or (value ~= '' and kind == 'p' and ours and not gone) then
    redis.call('SET', KEYS[i], value, 'PX', ARGV[2])
  elseif v and not gone then
    redis.call('DEL', KEYS[i])
  end
end
return 1
`

// ----- work -----

// dropLeaseLua ends a named lease if it is ours.
//
//	KEYS    1 lease
//	ARGV    1 token
//	answer  1 ended, 0 not ours
const dropLeaseLua = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
`

// removeMarksLua removes the marks of authors in flight that still carry the
// version that was read.
//
//	KEYS    1 shard
//	ARGV    author, version, ...
//	answer  the number of marks that were removed
//
//nolint:dupword // that is how Lua ends nested blocks
const removeMarksLua = `
local n = 0
for i = 1, #ARGV, 2 do
  local v = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if v and tonumber(v) == tonumber(ARGV[i + 1]) then
    n = n + redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
return n
`

// pruneActiveLua removes the marks of readers who did not come back meanwhile.
//
//	KEYS    1 shard
//	ARGV    1 day  2... readers
//	answer  the number of marks that were removed
//
//nolint:dupword // that is how Lua ends nested blocks
const pruneActiveLua = `
local n = 0
for i = 2, #ARGV do
  local v = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if v and tonumber(v) < tonumber(ARGV[1]) then
    n = n + redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
return n
`

// ----- heartbeat -----

// peekBeatLua reads a heartbeat and which server process answers. The command
// INFO may be missing or forbidden; then the process has no name.
//
//	KEYS    1 heartbeat
//	answer  {heartbeat or '', process or ''}
const peekBeatLua = `
local info = redis.pcall('INFO', 'server')
local run = ''
if type(info) == 'string' then run = string.match(info, 'run_id:(%w+)') or '' end
return {redis.call('GET', KEYS[1]) or '', run}
`

// moveBeatLua moves a heartbeat if it is still the one that was read.
//
//	KEYS    1 heartbeat
//	ARGV    1 as it was read, '' for none  2 new
//	answer  1 moved, 0 not
const moveBeatLua = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
`
