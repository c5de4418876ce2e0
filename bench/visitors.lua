-- For wrk: each request is the next visitor's, from a file with one Cookie value a line. wrk … -- FILE
local cookies, at = {}, 0

function init(arguments)
  for line in io.lines(arguments[1]) do
    cookies[#cookies + 1] = line
  end
end

function request()
  at = at % #cookies + 1
  return wrk.format('GET', nil, {Accept = 'text/html', Cookie = cookies[at]})
end
