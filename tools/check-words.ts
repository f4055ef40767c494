/**
 * Fails when source, tests or documents use a word that docs/glossary.md retired: one thing has one name, and readers who
 * know kubelet or containerd guess it. Words are found in identifiers too (`sandboxTrouble`).
 *
 *   scripts/node tools/check-words.ts [PATH…]
 *
 * A line that quotes text of another program says so at its end: `// words: quoted`.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

interface RetiredWord {
  readonly pattern: RegExp;
  readonly instead: string;
  /** Files in which the word is a term. */
  readonly except?: RegExp;
}

/** Matched against single lower-case words, identifiers split at their humps. */
const WORDS: readonly RetiredWord[] = [
  { pattern: /^(told|tell|tells|telling|untold)$/, instead: 'report, log, notify, return' },
  // An injected error is a fault: of the simulator, of in-memory ports, of tests.
  { pattern: /^(fault|faults)$/, instead: 'error', except: /^test\/|\/fake\/|\.test\.ts$|^docs\/|^[A-Z]+\.md$/ },
  { pattern: /^(problem|problems)$/, instead: 'error' },
  { pattern: /^(trouble|troubles|troubled)$/, instead: 'error' },
  { pattern: /^(complain|complains|complained|complaint|complaints)$/, instead: 'error, report' },
  { pattern: /^(refusal|refusals)$/, instead: 'rejection, error' },
  {
    pattern: /^(nobody|whoever|whomever|somebody|anybody|everybody|whom)$/,
    instead: 'the caller, the client, no component',
  },
  { pattern: /^(namesake|namesakes)$/, instead: 'pod of the same name' },
  { pattern: /^(ledger|senses|verdict|verdicts)$/, instead: 'store, observers, decision or rejection' },
  { pattern: /^(wish|wishes|wished)$/, instead: 'request' },
  { pattern: /^promised$/, instead: 'allocated' },
  { pattern: /^(hears|heard)$/, instead: 'is notified of, receives' },
  { pattern: /^(mood|riddle|afresh|hitherto|thereof|therein|wherein)$/, instead: 'plain words' },
];

/** Matched against the whole line. */
const PHRASES: readonly RetiredWord[] = [
  { pattern: /\banother than\b|\b(something|anything) else than\b/i, instead: 'differs from' },
  { pattern: /\b(earlier|previous|other|former|next|second) (life|lives)\b|\bacross lives\b/i, instead: 'process' },
  {
    pattern: /\b(has|have|had|takes?|keeps?) (the|its|his|their) word\b|\bthe word of (a|the|every|each)\b/i,
    instead: 'decides, latest value',
  },
  { pattern: /\b(take|takes|took|taken|taking) (it |them |all |this )?(away|down)\b/i, instead: 'remove, tear down' },
  {
    pattern: /\bas (often|much|long) as (one|it) likes\b|\bin peace\b|\bat hand\b|\bput aside\b/i,
    instead: 'plain words',
  },
  { pattern: /\bof nothing\b|\bis none\b|\bis nothing of\b|\bthe small change of\b/, instead: 'a plain statement' },
];

const CHECKED = /^(src|test|tools|docs)\/.*\.(ts|md)$|^[A-Z]+\.md$|^(scripts|\.ci)\/|^Makefile$/;
/** Generated files, recordings of other programs, and the lists of retired words themselves. */
const EXEMPT = /\/generated\/|\/data\/|^compat\/|^docs\/glossary\.md$|^tools\/check-words(\.test)?\.ts$|^LICENSE$/;

/** One line per retired word: `path:line: what to write instead`. */
export function retiredWords(path: string, text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.endsWith('words: quoted')) return [];
    const at = `${path}:${index + 1}`;
    const words = splitWords(line).flatMap((word) =>
      WORDS.filter(({ pattern, except }) => pattern.test(word) && !except?.test(path)).map(
        ({ instead }) => `${at}: "${word}": write ${instead}`,
      ),
    );
    const phrases = PHRASES.flatMap(({ pattern, instead }) => {
      const found = pattern.exec(line);
      return found ? [`${at}: "${found[0]}": write ${instead}`] : [];
    });
    return [...new Set([...words, ...phrases])];
  });
}

/** `sandboxTrouble of ENOENT` → sandbox, trouble, of, enoent. */
function splitWords(line: string): string[] {
  return line
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z]+/)
    .map((word) => word.toLowerCase());
}

if (import.meta.main) {
  const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' });
  const below = process.argv.slice(2);
  const paths = tracked
    .split('\n')
    .filter((path) => CHECKED.test(path) && !EXEMPT.test(path))
    .filter((path) => below.length === 0 || below.some((prefix) => path.startsWith(prefix)));
  const errors = paths.flatMap((path) => {
    try {
      return [...retiredWords(path, path), ...retiredWords(path, readFileSync(path, 'utf8'))];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []; // removed, and not committed yet
      throw error;
    }
  });
  for (const error of errors) console.error(error);
  console.log(`words: ${paths.length} files, ${errors.length} errors`);
  process.exitCode = errors.length === 0 ? 0 : 1;
}
