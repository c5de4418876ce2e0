-- The usual way: the check of a pass written for ngx_lua, HMAC through FFI. Same work as the module's fast path: find the cookie,
-- split the token, check key, room, kind, times and signature, take the cookie away from the application.
local ffi = require "ffi"

ffi.cdef [[
const void *EVP_sha256(void);
unsigned char *HMAC(const void *evp_md, const void *key, int key_len, const unsigned char *d, size_t n, unsigned char *md, unsigned int *md_len);
int CRYPTO_memcmp(const void *a, const void *b, size_t len);
]]

local C = ffi.C
local sha256 = C.EVP_sha256()
local digest = ffi.new("unsigned char[32]")
local length = ffi.new("unsigned int[1]")
local find, sub, byte = string.find, string.sub, string.byte
local unbase64 = ngx.decode_base64

local _M = { refresh = 15 }

function _M.set_key(id, base64)
  _M.id, _M.key = id, ngx.decode_base64(base64)
end

-- The fields of a token, and where its signature begins.
local function split(token)
  local fields, from = {}, 1
  while true do
    local dot = find(token, ".", from, true)
    if not dot then
      fields[#fields + 1] = sub(token, from)
      return fields, from
    end
    fields[#fields + 1] = sub(token, from, dot - 1)
    from = dot + 1
  end
end

function _M.valid(token, room)
  if not token or #token > 512 then return false end
  local f, mac_at = split(token)
  if #f ~= 12 or f[1] ~= "v1" or f[2] ~= _M.id or f[3] ~= "a" or f[4] ~= room then return false end
  local issued, expires, now = tonumber(f[6]), tonumber(f[7]), ngx.time()
  if not issued or not expires or issued > now + 60 or expires <= now or now - issued >= _M.refresh then return false end
  local mac = unbase64((f[12]:gsub("-", "+"):gsub("_", "/")) .. "=")
  if not mac or #mac ~= 32 then return false end
  C.HMAC(sha256, _M.key, #_M.key, token, mac_at - 2, digest, length)
  return C.CRYPTO_memcmp(digest, mac, 32) == 0
end

function _M.access(room)
  local cookies = ngx.var.http_cookie
  local token = cookies and cookies:match("fairway_pass_" .. room .. "=([^;]+)")
  if not _M.valid(token, room) then return ngx.exit(429) end
  local rest = cookies:gsub("fairway_%a+_" .. room .. "=[^;]*;?%s*", "")
  ngx.req.set_header("Cookie", rest ~= "" and rest or nil)
end

return _M
