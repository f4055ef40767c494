/** One character of a text: whether a part of a pattern matches it. */
type CharacterTest = (character: string) => boolean;
type Part = '*' | CharacterTest;

const PART = /\[\^?(?:\\.|[^\]\\])(?:\\.|[^\]\\])*\]|\\.|[^[\\]/suy;

/**
 * Go's `path.Match`. A malformed pattern matches nothing. The work is at most the product of both lengths; a regular
 * expression with many stars would take exponential time.
 */
export function pathMatches(pattern: string, text: string): boolean {
  const parts = parsePattern(pattern);
  return parts !== undefined && partsMatch(parts, [...text]);
}

/** Whether `path.Match` accepts the pattern. */
export function isPathPattern(pattern: string): boolean {
  return parsePattern(pattern) !== undefined;
}

/** Only the last star is tried again with a longer text: an earlier one cannot help. */
function partsMatch(parts: readonly Part[], characters: readonly string[]): boolean {
  let [part, at] = [0, 0];
  let star: { readonly part: number; at: number } | undefined;
  while (at < characters.length) {
    const next = parts[part];
    if (next === '*') {
      star = { part, at };
      part++;
    } else if (next?.(characters[at] ?? '')) {
      part++;
      at++;
    } else if (star && characters[star.at] !== '/') {
      star.at++;
      at = star.at;
      part = star.part + 1;
    } else {
      return false;
    }
  }
  return parts.slice(part).every((rest) => rest === '*');
}

/** `undefined`: the pattern is malformed. */
function parsePattern(pattern: string): readonly Part[] | undefined {
  const parts: Part[] = [];
  for (let at = 0; at < pattern.length; at = PART.lastIndex) {
    PART.lastIndex = at;
    const part = parsePart(PART.exec(pattern)?.[0]);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return parts;
}

function parsePart(token: string | undefined): Part | undefined {
  if (token === undefined || token === '*') return token;
  if (token === '?') return (character) => character !== '/';
  if (token.startsWith('[')) return characterClass(token);
  const literal = token.startsWith('\\') ? token.slice(1) : token;
  return (character) => character === literal;
}

/** `[a-z\\-_]`, or `[^…]` for all others. */
function characterClass(token: string): CharacterTest | undefined {
  const isNegated = token[1] === '^';
  const members = [...token.slice(isNegated ? 2 : 1, -1)];
  const ranges: (readonly [first: number, last: number])[] = [];
  while (members.length > 0) {
    const first = takeMember(members);
    const last = members[0] === '-' ? takeMember(members, 1) : first;
    if (first === undefined || last === undefined) return undefined;
    ranges.push([first, last]);
  }
  if (ranges.length === 0) return undefined;
  return (character) => {
    const code = codeOf(character);
    return ranges.some(([first, last]) => first <= code && code <= last) !== isNegated;
  };
}

/** Takes the code point of the next member after `skipped` characters; `undefined` at the end. */
function takeMember(members: string[], skipped = 0): number | undefined {
  const next = members.splice(0, skipped + 1)[skipped] ?? '-';
  if (next === '-') return undefined;
  return codeOf(next === '\\' ? (members.shift() ?? '') : next);
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}
