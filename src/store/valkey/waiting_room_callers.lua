-- The script's third part: what becomes of the callers, and the call from beginning to end.

-- Callers. WAITS: whatever the record says in the end.

local function release(operation, r)
  if operation.kind == 'v' then
    if r.place ~= INSIDE then return UNKNOWN end
    finish_session(r)
    return RELEASED
  end
  if r.place then
    if r.place ~= ENDED then finish_session(r) end
    return RELEASED
  end
  if not operation.claim and operation.admitted == 0 then return RELEASED end
  if not add(r, operation, ENDED, 0, 0, now) then return NO_MEMORY end
  finish_session(r)
  if operation.claim and operation.admitted ~= 0 and operation.epoch ~= s.epoch then s.back = s.back + 1 end -- it was reserved a slot
  return RELEASED
end

local function extend(r)
  local expiry = now + set.session_timeout
  if set.session_max > 0 then
    local last = r.stamp + set.session_max
    if last <= now then
      finish_session(r)
      return GONE
    end
    expiry = math.min(expiry, last)
  end
  put(r, INSIDE, r.number, expiry, r.stamp, true)
  return WAITS
end

-- False: no pass to take over.
local function take_over(operation, r)
  if operation.claim and operation.epoch == s.epoch then return false end
  if cut_hits_pass(operation) then return GONE end
  local admitted = operation.admitted > 0 and math.min(operation.admitted, now) or now
  if set.session_max > 0 and admitted + set.session_max <= now then return not r.place and GONE end
  if s.inside >= set.capacity + set.max_waiting then return false end
  local number = operation.claim and operation.number or draw_number()
  local was_back = r.place == LOST -- it may have been counted before its slot ran out
  if r.place then
    put(r, INSIDE, number, now, admitted)
  elseif not add(r, operation, INSIDE, number, now, admitted) then
    return NO_MEMORY
  end
  if operation.claim and not was_back then s.back = s.back + 1 end
  if not operation.claim then s.last = number end
  operation.created = not operation.claim
  return extend(r)
end

local function rejoin(operation, r)
  if cut_hits_claim(operation) then return GONE end
  if r.place then
    put(r, WAITING, operation.number, now, now)
    return WAITS
  end
  return add(r, operation, WAITING, operation.number, now, now) and WAITS or NO_MEMORY
end

local function note(operation)
  local r = records[operation.sid]
  if r.place and cut_hits(r) then finish_session(r) end
  if operation.kind == 'r' or operation.kind == 'v' then return release(operation, r) end
  if r.place and operation.net ~= '' and operation.net ~= r.net then
    r.net = operation.net
    touch(r)
  end
  if r.place == ENDED then return GONE end
  if r.place == INSIDE then
    operation.came_in = not r.claimed
    return extend(r)
  end
  if operation.kind == 'h' then
    local state = take_over(operation, r)
    if state then return state end
  end
  if r.place == LOST and now - r.lost > set.return_grace then return GONE end
  if r.place ~= WAITING then
    if not operation.claim then return false end
    local state = rejoin(operation, r)
    if state ~= WAITS then return state end
  end
  r.called = true
  if set.mode == OPEN then admit(r, r.number, true) end
  return WAITS
end

local function promote()
  if set.mode ~= NORMAL or recovering() then return end
  local seen = 0
  while s.waiting > 0 and may_admit() do
    if seen == WORK_PER_STEP then
      more_work = true
      return
    end
    -- Whoever was looked at has left the line, but not yet the index.
    local heads = call('ZRANGE', LINE, seen, seen + math.min(16, WORK_PER_STEP - seen) - 1)
    load(heads)
    for _, sid in ipairs(heads) do
      local r = records[sid]
      if not may_admit() then break end
      seen = seen + 1
      if cut_hits(r) then
        finish_session(r)
      elseif r.called or r.stamp >= now or holding_on() then
        admit(r, r.number, r.called)
      else
        lose(r)
        s.abandoned = s.abandoned + 1
      end
    end
  end
end

local function join(operation)
  local r = records[operation.sid]
  if r.place and r.place ~= LOST then return WAITS end
  if operation.kind == 'p' then return UNKNOWN end
  if set.mode == SHUT then return CLOSED end
  local allowed = set.mode == NORMAL and s.waiting == 0 and not (recovering() and s.somebody_waited)
  local direct = set.mode == OPEN or (allowed and may_admit())
  if not direct and s.waiting >= set.max_waiting then return FULL end
  local number = draw_number()
  if r.place then
    put(r, WAITING, number, now, now)
  elseif not add(r, operation, WAITING, number, now, now) then
    return NO_MEMORY
  end
  s.last = number
  if direct then admit(r, number, true) end
  operation.came_in = direct
  operation.created = true
  return WAITS
end

local function poll_interval(rank)
  if set.poll_min <= 0 or set.poll_max <= set.poll_min then return set.poll_max end
  return math.min(set.poll_max, math.max(set.poll_min, math.floor(set.poll_min * rank / 50)))
end

-- The answer to one operation, appended to `reply`.
local function fill(operation, reply)
  local r = records[operation.sid]
  local state, rank, interval, epoch, number, expires, admitted = operation.state, 0, 0, 0, 0, 0, 0
  local flags = operation.created and 1 or 0
  if state == WAITS then
    local came_in = operation.came_in or r.called
    r.called = false
    if r.place == INSIDE then
      state, epoch, number, expires, admitted = ADMITTED, s.epoch, r.number, r.when, r.stamp
      if came_in then flags = flags + 2 end
    elseif r.place == WAITING then
      r.rank = r.rank or call('ZRANK', LINE, r.sid) + 1
      epoch, number, rank, interval = s.epoch, r.number, recovering() and 0 or r.rank, poll_interval(r.rank)
      local gap = math.min(operation.gap + math.floor(operation.gap / 2), 90000000)
      local due = now + math.max(2 * interval, 2000000, gap)
      if due < r.when then put(r, WAITING, r.number, due, due) end
      r.stamp = due
      touch(r)
      if set.mode == SHUT then state = CLOSED end
    else
      state = GONE
    end
  end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = state, flags, rank, interval
  reply[n + 5], reply[n + 6], reply[n + 7], reply[n + 8] = epoch, number, expires, admitted
end

local function append_changes(reply)
  local ended = call('ZRANGEBYSCORE', ENDED_KEY, changes.since + 1, '+inf', 'WITHSCORES', 'LIMIT', 0, changes.limit + 1)
  local fits = math.min(changes.limit, #ended / 2)
  push(reply, fits, #ended / 2 > fits and 1 or 0)
  for i = 1, fits do push(reply, ended[2 * i - 1], tonumber(ended[2 * i])) end
  local at = #reply + 1
  reply[at] = 0
  for _, c in ipairs(s.cuts) do
    if c.version > changes.since then
      reply[at] = reply[at] + 1
      push(reply, c.net, c.line and 1 or 0)
      push(reply, c.at, c.number)
      push(reply, c.version)
    end
  end
end

local function append_cut(reply)
  for _, c in ipairs(s.cuts) do
    if cut.id ~= 0 and c.version == cut.id then
      push(reply, c.version, c.ended)
      push(reply, c.done and 1 or 0)
      return
    end
  end
  push(reply, 0, 0)
  push(reply, 0)
end

-- The call

local time = redis.call('TIME')
now = time[1] * 1000000 + time[2]
if now + s.offset < s.clock then s.offset = s.clock - now end
now = now + s.offset
s.clock = now

begin()
if cut.kind == 'new' and free_cut() then
  s.version = s.version + 1
  cut.id = s.version
  s.cuts[#s.cuts + 1] = {
    version = cut.id, net = cut.net, line = cut.line, at = now, number = s.last, kept_until = s.horizon, ended = 0, done = false, place = WAITING,
  }
  if cut.net == '' then s.reserve_until = 0 end -- those it is kept for cannot come back
  now, s.clock, s.offset = now + 1, s.clock + 1, s.offset + 1 -- whoever is admitted from here on is later than the cut
  sweep_cuts()
end

local sids = {}
for i, operation in ipairs(operations) do sids[i] = operation.sid end
load(sids)
for _, operation in ipairs(operations) do operation.state = note(operation) end
flush()
promote()
for _, operation in ipairs(operations) do operation.state = operation.state or join(operation) end
flush()

local reply = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} -- the summary, last of all
for _, operation in ipairs(operations) do fill(operation, reply) end
flush()
flush_recent()
if changes.wanted then append_changes(reply) end
if cut.kind ~= '' then append_cut(reply) end

reply[1], reply[2], reply[3], reply[4] = now, s.epoch, s.version, s.last
reply[5], reply[6], reply[7], reply[8] = s.inside, s.granted, reserved(), s.waiting
reply[9], reply[10], reply[11], reply[12] = s.admitted, s.abandoned, recovering() and 1 or 0, more_work and 1 or 0

-- Keys live on together: all are renewed when a quarter of the life is over, new ones at once.
local keys = expected(s)
local life = key_life(s.horizon - now)
if now - s.renewed > life * 250 or table.concat(keys, ' ') ~= existed then
  s.renewed = now
  for _, key in ipairs(keys) do call('PEXPIRE', key, life) end
end
call('SET', STATE, cmsgpack.pack(s), 'PX', life)
return reply
