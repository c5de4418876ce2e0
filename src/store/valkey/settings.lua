-- What the gateways of one store share of their operators' changes: one text, and who the gateways are. Each gateway calls this
-- twice a second; nearly always nothing has changed and the answer is a few bytes.
--
-- KEYS   settings  hash: `stamp`, a random name of the text, new with each text; `text`
--        gateways  sorted set: when seen, in seconds -> "ID KEYS"
-- ARGV   id and keys of the calling gateway; the stamp of the text that it knows, empty for none; stamp and text of a new one,
--        both empty when there is none
-- Reply  1 if the new text was taken, which it is when nobody else has changed the text that the caller knows; the stamp of what is
--        there now; the text, empty if the caller knows it; then each other gateway that was seen lately
--
-- The text has no expiry: it is what an operator wants. The gateways hold copies, so losing it loses nothing.
if redis.replicate_commands then redis.replicate_commands() end

local SETTINGS, GATEWAYS = KEYS[1], KEYS[2]
local id, ids, known, stamp, text = unpack(ARGV)
local REFRESH, LIFE = 10, 60 -- seconds
local now = tonumber(redis.call('TIME')[1])

local there = redis.call('HMGET', SETTINGS, 'stamp')[1] or ''
local taken = stamp ~= '' and there == known
local answer = ''
if taken then
  redis.call('HSET', SETTINGS, 'stamp', stamp, 'text', text)
  there = stamp
elseif there ~= known then
  answer = redis.call('HMGET', SETTINGS, 'text')[1] or ''
end

-- A server that is full refuses these two; the next call tries again.
local reply = {taken and 1 or 0, there, answer}
local fresh = false
local seen = redis.call('ZRANGEBYSCORE', GATEWAYS, '-inf', '+inf', 'WITHSCORES')
for i = 1, #seen, 2 do
  local member, at = seen[i], tonumber(seen[i + 1])
  local mine = string.sub(member, 1, #id + 1) == id .. ' '
  if mine and member == id .. ' ' .. ids then
    fresh = at > now - REFRESH and at <= now
  elseif mine or at < now - LIFE then
    redis.call('ZREM', GATEWAYS, member)
  else
    reply[#reply + 1] = member
  end
end
if not fresh then
  redis.pcall('ZADD', GATEWAYS, now, id .. ' ' .. ids)
  redis.call('PEXPIRE', GATEWAYS, 2 * LIFE * 1000)
end
return reply
