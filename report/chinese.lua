-- How Chinese is set: what stands between two characters, and where a line may end (clreq, GB/T 15834).
-- Babel chooses the fonts; its own line breaking knows no space between Han and Latin and stops at links and formulas.
-- Space and line ends typed beside a Han character say nothing: what stands there depends on the two neighbours alone.

zh = {}

local GLYPH, GLUE, KERN, PENALTY, MATH = node.id("glyph"), node.id("glue"), node.id("kern"), node.id("penalty"), node.id("math")
local HLIST, VLIST, RULE = node.id("hlist"), node.id("vlist"), node.id("rule")
local SPACES = { [13] = true, [14] = true } -- between words, and between sentences
local SKIP = 0 -- \textbf leaves this in place of a space before it
local USER_KERN, NEVER = 1, 10000

local HALF, BETWEEN_SCRIPTS = 0.5, 0.2 -- in em: the blank inside of a mark, the space between Han and Latin
local class = {}
for _, code in utf8.codes("（〔［｛〈《「『【〖") do class[code] = "open" end
for _, code in utf8.codes("，。、．；：！？）〕］｝〉》」』】〗") do class[code] = "close" end

-- Quotation marks and dashes are shared with Latin: they are Chinese if babel's number of that language is given.
function zh.shared_marks(chinese)
  for mark, kind in pairs({ ["“"] = "open", ["‘"] = "open", ["”"] = "close", ["’"] = "close", ["—"] = "dash", ["…"] = "dash" }) do
    class[utf8.codepoint(mark)] = chinese and kind or "latin"
    Babel.chr_to_loc[utf8.codepoint(mark)] = chinese
  end
end

local function class_of(code)
  if class[code] then return class[code] end
  local han = (code >= 0x2E80 and code <= 0x9FFF) or (code >= 0xF900 and code <= 0xFAFF)
    or (code >= 0xFF00 and code <= 0xFFEF) or (code >= 0x20000 and code <= 0x3FFFF)
  class[code] = han and "han" or "latin"
  return class[code]
end

local function em(glyph)
  local found = font.getfont(glyph.font)
  return found and found.size or 655360
end

local function kern(width)
  local n = node.new(KERN, USER_KERN)
  n.kern = width
  return n
end

local function penalty(value)
  local n = node.new(PENALTY)
  n.penalty = value
  return n
end

local function glue(width, stretch, shrink)
  local n = node.new(GLUE)
  node.setglue(n, width, stretch, shrink)
  return n
end

local function nothing() -- unlike a kern it stays where a line begins
  local n = node.new(RULE)
  n.width, n.height, n.depth = 0, 0, 0
  return n
end

-- The nodes between a character of class `a` and one of class `b`.
local function between(a, b, quad, keep)
  local half = HALF * quad
  if a == "close" and b == "close" then return { kern(-half) } end
  if a == "open" then return b == "open" and { kern(-half) } or {} end
  if b == "close" or b == "dash" then return {} end
  local nodes = {}
  if a == "close" then nodes = { kern(-half) } end -- a line ends flush with the mark
  nodes[#nodes + 1] = penalty(keep and NEVER or 0)
  if a == "close" or b == "open" then
    nodes[#nodes + 1] = glue(half, 0.1 * quad, 0.25 * quad)
  elseif a == "latin" or b == "latin" then
    local width = (a == "dash" or b == "dash") and 0 or BETWEEN_SCRIPTS * quad
    nodes[#nodes + 1] = glue(width, 0.12 * quad, math.min(width, 0.08 * quad))
  else
    nodes[#nodes + 1] = glue(0, 0.06 * quad, 0)
  end
  if b == "open" then -- and begins flush with it
    nodes[#nodes + 1] = nothing()
    nodes[#nodes + 1] = kern(-half)
  end
  return nodes
end

local function last_glyph(head)
  local found
  for n in node.traverse(head) do
    if n.id == GLYPH then found = n elseif n.id == MATH or n.id == HLIST then found = nil end
  end
  return found
end

local function han_like(kind) return kind and kind ~= "latin" end

function zh.space(head)
  local last, quad, typed, keep = nil, 655360, nil, false
  local formula = false

  local function meet(n, kind)
    if han_like(kind) and n.id == GLYPH then quad = em(n) end
    if last and (han_like(last) or han_like(kind)) then
      if typed then head = node.remove(head, typed); node.free(typed) end
      for _, new in ipairs(between(last, kind, quad, keep)) do
        new.attr = n.attr
        head = node.insert_before(head, n, new)
      end
    end
    last, typed, keep = kind, nil, false
  end

  local n = head
  while n do
    local following = n.next
    if n.id == MATH then
      formula = n.subtype == 0
      if formula then meet(n, "latin") else last = "latin" end
    elseif formula then
      last = nil
    elseif n.id == GLYPH then
      meet(n, class_of(n.char))
    elseif n.id == GLUE and last and not typed
      and (SPACES[n.subtype] or (n.subtype == SKIP and n.stretch > 0 and n.stretch_order == 0 and n.width < quad / 2)) then
      typed = n
    elseif n.id == PENALTY then
      keep = keep or n.penalty >= NEVER
    elseif n.id == GLUE or n.id == RULE or n.id == VLIST or (n.id == KERN and n.subtype == USER_KERN)
      or (n.id == HLIST and n.width ~= 0) then
      local inside = n.id == HLIST and last_glyph(n.head) -- a mark at the end of a box meets the next one
      last, typed, keep = inside and class_of(inside.char) == "close" and "close" or nil, nil, false
      if last then quad = em(inside) end
    end -- all else (links, anchors, hyphenation) is not seen
    n = following
  end
  return head
end

Babel.linebreaking.add_after(function(head) zh.space(head) end)

-- Texts that are escaped (report/team.yaml) name a font for each Chinese character: here they are set as the text is.
local other_scripts = judgekit_unitext
function judgekit_unitext(text)
  local piece, chinese = {}, nil
  local function flush()
    if #piece > 0 then
      if chinese then tex.sprint(table.concat(piece)) else other_scripts(table.concat(piece)) end
    end
    piece = {}
  end
  for _, code in utf8.codes(text) do
    local is = class_of(code) ~= "latin"
    if is ~= chinese then flush() end
    chinese = is
    piece[#piece + 1] = utf8.char(code)
  end
  flush()
end
