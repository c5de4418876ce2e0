-- The script's second part: who may come in, cuts, recovery, and what falls due by itself.

-- Rate: the list grows as RateRing does, so that changed limits have the same effect.

local pushed = 0 -- admissions of this call, not yet in the list

local function nth_last(n)
  if n <= pushed then return now end
  return tonumber(call('LINDEX', RECENT, pushed - n))
end

local function make_room()
  if s.recents < s.ring or s.ring >= set.rate then return end
  if s.ring > 0 and nth_last(s.recents) <= now - set.rate_window then return end
  s.ring = math.min(set.rate, s.ring == 0 and 64 or s.ring * 2)
end

local function rate_allows()
  if set.rate_window == 0 then return true end
  if set.rate == 0 or (s.recents >= set.rate and nth_last(set.rate) > now - set.rate_window) then return false end
  make_room()
  return true
end

local function note_admission()
  if set.rate_window == 0 or set.rate == 0 then return end
  make_room()
  pushed = pushed + 1
  s.recents = math.min(s.recents + 1, s.ring)
end

local function flush_recent()
  if pushed == 0 then return end
  local times = {}
  for i = 1, math.min(pushed, s.recents) do times[i] = now end
  send('RPUSH', RECENT, times)
  call('LTRIM', RECENT, -s.recents, -1)
end

-- The room

local function recovering() return now < s.recovery_until end
local function holding_on() return recovering() or now < s.keep_until end

local function reserved() return now < s.reserve_until and math.max(0, s.remembered - s.back) or 0 end

local function may_admit() return s.inside + reserved() < set.capacity and rate_allows() end

local function admit(r, number, claimed)
  local expiry = claimed and now + set.session_timeout or math.max(now + set.grant_timeout, r.stamp)
  if set.session_max > 0 then expiry = math.min(expiry, now + set.session_max) end
  put(r, INSIDE, number, expiry, now, claimed)
  s.admitted = s.admitted + 1
  note_admission()
end

local function draw_number() return math.max(now, s.last + 1) end

-- Cuts

local function covers(c, net) return c.net == '' or c.net == net end

local function cut_hits(r)
  for _, c in ipairs(s.cuts) do
    if covers(c, r.net) then
      if r.place == INSIDE and r.stamp <= c.at then return true end
      if r.place == WAITING and c.line and r.number <= c.number then return true end
    end
  end
  return false
end

local function cut_hits_pass(operation)
  for _, c in ipairs(s.cuts) do
    if covers(c, operation.net) and operation.admitted <= c.at then return true end
  end
  return false
end

local function cut_hits_claim(operation)
  for _, c in ipairs(s.cuts) do
    if c.line and covers(c, operation.net) and operation.number <= c.number then return true end
  end
  return false
end

-- Where the sweep of a cut goes on in an index: behind the member it saw last, or, that one gone, at its score.
local function cursor_rank(key, c)
  if not c.score then return 0 end
  local score = call('ZSCORE', key, c.sid)
  if score and tonumber(score) == c.score then return call('ZRANK', key, c.sid) + 1 end
  return call('ZCOUNT', key, '-inf', string.format('(%.0f', c.score))
end

local function sweep_cut(c, budget)
  local key = c.place == WAITING and LINE or INSIDE_KEY
  local from = cursor_rank(key, c)
  local found = call('ZRANGE', key, from, from + budget - 1, 'WITHSCORES')
  local sids = {}
  for i = 1, #found, 2 do push(sids, found[i]) end
  load(sids)
  for i, sid in ipairs(sids) do
    c.sid, c.score = sid, tonumber(found[2 * i])
    if cut_hits(records[sid]) then
      finish_session(records[sid])
      c.ended = c.ended + 1
    end
  end
  flush()
  budget = budget - #sids
  if budget > 0 and c.place == WAITING then
    c.place, c.sid, c.score = INSIDE, nil, nil
    return sweep_cut(c, budget)
  end
  c.done = budget > 0
  return budget
end

local function sweep_cuts()
  local budget = WORK_PER_STEP
  local kept = {}
  for _, c in ipairs(s.cuts) do
    local over = c.done and c.kept_until <= now
    if not over then kept[#kept + 1] = c end
  end
  s.cuts = kept
  for _, c in ipairs(s.cuts) do
    if not c.done then
      if budget > 0 then budget = sweep_cut(c, budget) end
      more_work = more_work or not c.done
    end
  end
end

-- Makes place for one more: the oldest that is done goes. False when all are under way.
local function free_cut()
  if #s.cuts < MAX_CUTS then return true end
  local oldest
  for i, c in ipairs(s.cuts) do
    if c.done and (not oldest or c.version < s.cuts[oldest].version) then oldest = i end
  end
  if oldest then table.remove(s.cuts, oldest) end
  return oldest ~= nil
end

-- Recovery

local function behind()
  if memory.epoch > s.epoch then return true end
  if memory.epoch == s.epoch and (memory.version >= s.version or memory.last > s.last) then return true end
  for _, operation in ipairs(operations) do
    if operation.claim and (operation.epoch > s.epoch or (operation.epoch == s.epoch and operation.number > s.last)) then return true end
  end
  return false
end

local function open_epoch()
  local known = math.max(s.epoch, s.last, memory.epoch, memory.last)
  for _, operation in ipairs(operations) do known = math.max(known, operation.epoch, operation.number) end
  s.epoch = math.max(now, known + 1)
  s.last = s.epoch
  s.version = math.max(s.version, memory.version + 1)
  s.had_recovery, s.somebody_waited = false, false
  s.recovery_until, s.reserve_until = 0, 0
  s.remembered, s.back = 0, s.inside
end

local function recover_if_due()
  if s.epoch == 0 or behind() then open_epoch() end
  local told = memory.epoch ~= 0 and memory.epoch < s.epoch
  local shown = false
  for _, operation in ipairs(operations) do
    if operation.claim then
      shown = shown or operation.epoch < s.epoch
      s.last = math.max(s.last, operation.number)
    end
  end
  if (told or shown) and not s.had_recovery then
    s.had_recovery = true
    s.recovery_until = now + recovery_window
    s.reserve_until = now + set.session_timeout
  end
  if told then
    s.remembered = math.max(s.remembered, memory.inside)
    s.somebody_waited = s.somebody_waited or memory.waiting > 0
  end
end

-- What falls due by itself

local function sweep_marks()
  if s.lost > 0 then
    local over = call('ZRANGEBYSCORE', LOST_KEY, '-inf', now, 'LIMIT', 0, WORK_PER_STEP)
    load(over)
    for _, sid in ipairs(over) do put(records[sid], false) end
  end
  if s.ended == 0 or s.oldest_ended > now then return end
  local oldest = call('ZRANGE', ENDED_KEY, 0, WORK_PER_STEP)
  load(oldest)
  s.oldest_ended = 0
  for i, sid in ipairs(oldest) do
    local r = records[sid]
    if i > WORK_PER_STEP or r.stamp > now then
      s.oldest_ended = r.stamp
      break
    end
    put(r, false)
  end
end

-- Looks at what is filed up to `latest`; returns what is left of the budget, below zero if it did not do.
local function sweep_due(key, latest, budget, drop)
  if budget < 0 then return budget end
  local over = call('ZRANGEBYSCORE', key, '-inf', latest, 'LIMIT', 0, budget + 1)
  load(over)
  for i, sid in ipairs(over) do
    if i > budget then
      more_work = true
      return -1
    end
    drop(records[sid])
  end
  return budget - #over
end

local function sweep()
  s.horizon = math.max(s.horizon, now + token_life)
  sweep_marks()
  if not holding_on() then
    local budget = sweep_due(INSIDE_KEY, now, WORK_PER_STEP, function(r)
      if set.session_max > 0 and r.stamp + set.session_max <= now then finish_session(r) else lose(r) end
    end)
    if set.mode ~= SHUT then
      sweep_due(DUE, now - set.abandon_timeout, budget, function(r)
        if r.stamp + set.abandon_timeout > now then return put(r, WAITING, r.number, r.stamp, r.stamp) end
        lose(r)
        s.abandoned = s.abandoned + 1
      end)
    end
  end
  flush()
end

local function begin()
  s.version = s.version + 1
  recover_if_due()
  if memory.outage_ended then s.keep_until = math.max(s.keep_until, now + recovery_window) end
  sweep()
  sweep_cuts()
end
