package redis

// ----- cells -----

// cellLua is the start of the scripts about cells; see cells.go for the
// members. A floor's nonce makes each floor different from all before it.
//
//nolint:dupword // that is how Lua ends nested blocks
const cellLua = `
local function floor(key)
  local raw = redis.call('ZREVRANGE', key, 0, 0)[1]
  if raw and string.sub(raw, 1, 2) == 'f|' then return raw end
  return nil
end
local function parse(raw)
  return string.match(raw, '^f|(-?%d+)|(-?%d+)|')
end
local function replace(key, old, at, gen, nonce)
  redis.call('ZADD', key, '+inf', 'f|' .. at .. '|' .. gen .. '|' .. nonce)
  if old then redis.call('ZREM', key, old) end
end
local function dropMarks(key, but)
  for _, m in ipairs(redis.call('ZREVRANGEBYSCORE', key, '+inf', '+inf')) do
    if m ~= but and string.sub(m, 1, 2) == 'a|' then redis.call('ZREM', key, m) end
  end
end
`

// openCellLua puts a mark into a cell.
//
//	KEYS    1 cell
//	ARGV    1 mark  2 marks at most  3 TTL in ms of a cell without a floor
//	answer  1
const openCellLua = `
redis.call('ZADD', KEYS[1], '+inf', ARGV[1])
local marks = redis.call('ZCOUNT', KEYS[1], '+inf', '+inf')
if floor(KEYS[1]) then
  marks = marks - 1
else
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
if marks > tonumber(ARGV[2]) then dropMarks(KEYS[1], ARGV[1]) end
return 1
`

// mergeCellLua adds entries and sets the floor, if the mark still stands. The
// floor of a later generation stays: what was read for ours is of no use.
//
//	KEYS    1 cell
//	ARGV    1 mark  2 floor  3 generation  4 nonce  5 TTL in ms
//	        6... score, member
//	answer  1 merged, 0 not
const mergeCellLua = `
local key = KEYS[1]
if redis.call('ZREM', key, ARGV[1]) == 0 then return 0 end
local raw = floor(key)
local at, gen
if raw then at, gen = parse(raw) end
if gen and tonumber(gen) > tonumber(ARGV[3]) then return 0 end
if gen ~= ARGV[3] or tonumber(at) > tonumber(ARGV[2]) then
  replace(key, raw, ARGV[2], ARGV[3], ARGV[4])
end
for i = 6, #ARGV, 1000 do
  redis.call('ZADD', key, unpack(ARGV, i, math.min(i + 999, #ARGV)))
end
redis.call('PEXPIRE', key, ARGV[5])
return 1
`

// addToCellsLua adds a post to those of the cells that exist, and cuts what is
// too much or too old. A cut drops the marks too: who merges later would bring
// a lower floor, but not all that was cut.
//
//	KEYS    cells, in any number, each for itself
//	ARGV    1 score  2 member  3 keep  4 slack  5 oldest in ms  6 nonce
//	answer  the number of cells that were added to
//
//nolint:dupword // that is how Lua ends nested blocks
const addToCellsLua = `
local keep, oldest = tonumber(ARGV[3]), tonumber(ARGV[5])
local most = keep + tonumber(ARGV[4])
local added = 0
for _, key in ipairs(KEYS) do
  local n = redis.call('ZCARD', key)
  if n > 0 then
    added = added + 1
    n = n + redis.call('ZADD', key, ARGV[1], ARGV[2])
    local cut = 0
    if n > most then
      n = n - redis.call('ZCOUNT', key, '+inf', '+inf')
      if n > most then cut = n - keep end
    end
    local low = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
    if low < oldest then
      local top = redis.call('ZREVRANGEBYSCORE', key, '(inf', '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
      if (oldest - low) * 16 >= tonumber(top[2]) - oldest then
        cut = math.max(cut, redis.call('ZCOUNT', key, '-inf', '(' .. ARGV[5]))
      end
    end
    if cut > 0 then
      local raw = floor(key)
      if raw then
        local at, gen = parse(raw)
        local top = redis.call('ZRANGE', key, cut - 1, cut - 1, 'WITHSCORES')
        local above = string.format('%.0f', tonumber(top[2]) + 1)
        if tonumber(above) > tonumber(at) then replace(key, raw, above, gen, ARGV[6]) end
      end
      dropMarks(key)
      redis.call('ZREMRANGEBYRANK', key, 0, cut - 1)
    end
  end
end
return added
`

// ----- boards -----

// endBoardsLua removes the posts that fell to nothing from boards that were
// changed, cuts the boards and renews them.
//
//	KEYS    boards
//	ARGV    1 TTL in ms  2... for each: keep, slack, lowest score or ''
//	answer  1
const endBoardsLua = `
for i, key in ipairs(KEYS) do
  local keep, slack, least = tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i]), ARGV[3 * i + 1]
  if least ~= '' then redis.call('ZREMRANGEBYSCORE', key, '-inf', '(' .. least) end
  local n = redis.call('ZCARD', key)
  if n > keep + slack then redis.call('ZREMRANGEBYRANK', key, 0, n - keep - 1) end
  redis.call('PEXPIRE', key, ARGV[1])
end
return 1
`

// ----- learning -----

// takeUnlearnedLua takes noted users: first those that were taken before and
// not dropped in time, whose notes are the oldest, then the others but those
// that are taken and were noted again.
//
//	KEYS    1 noted users by time  2 taken users by the end of it
//	ARGV    1 now  2 until  3 limit
//	answer  users
//
//nolint:dupword // that is how Lua ends nested blocks
const takeUnlearnedLua = `
local limit = tonumber(ARGV[3])
local users = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[1], 'LIMIT', 0, limit)
for _, user in ipairs(users) do
  redis.call('ZADD', KEYS[2], ARGV[2], user)
  redis.call('ZREM', KEYS[1], user)
end
if #users < limit then
  local seen = limit - #users + redis.call('ZCARD', KEYS[2])
  for _, user in ipairs(redis.call('ZRANGE', KEYS[1], 0, seen - 1)) do
    if #users == limit then break end
    if not redis.call('ZSCORE', KEYS[2], user) then
      users[#users + 1] = user
      redis.call('ZADD', KEYS[2], ARGV[2], user)
      redis.call('ZREM', KEYS[1], user)
    end
  end
end
return users
`

// dropUnlearnedLua ends the taking of users, if nobody took them since.
//
//	KEYS    1 taken users by the end of it
//	ARGV    1 until  2... users
//	answer  the number of users that were dropped
//
//nolint:dupword // that is how Lua ends nested blocks
const dropUnlearnedLua = `
local n = 0
for i = 2, #ARGV do
  local v = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if v and tonumber(v) == tonumber(ARGV[1]) then
    n = n + redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
return n
`
