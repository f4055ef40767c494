import { parseDurationMs } from '../../base/duration.ts';
import { errorText } from '../../base/error-text.ts';
import { didYouMean } from './closest-name.ts';
import { type ConfigDiagnostic, errorAt, warningAt } from './config-diagnostic.ts';
import { flagTexts } from './flag-texts.ts';
import { parseFlagValue } from './flag-value.ts';
import { FLAGS, type FlagSpec } from './generated/flags.ts';
import type { JsonValue } from './json-value.ts';
import { DEFAULT_FLAGS, type KubeletFlags } from './kubelet-flags.ts';
import type { FieldFlag } from './merge-config.ts';

export interface ParsedFlags {
  /** Those with a meaning of their own. */
  readonly flags: KubeletFlags;
  /** Those that set a field of KubeletConfiguration, by the order of their names. */
  readonly fields: readonly FieldFlag[];
  /** Every flag of the command line, given or not, as `/flagz` shows it. */
  readonly texts: Readonly<Record<string, string>>;
  readonly diagnostics: readonly ConfigDiagnostic[];
}

const BY_NAME: ReadonlyMap<string, FlagSpec> = new Map(FLAGS.map((flag) => [flag.name, flag]));
const SHORTHANDS: Readonly<Record<string, string>> = { v: 'v', h: 'help' };
/** What such a flag means when no value is given. */
const VALUE_WHEN_BARE: Partial<Record<FlagSpec['kind'], string>> = { bool: 'true', version: 'true' };

/** Reads a command line in the manner of pflag; what it says about mistakes is pflag's, too. */
export function parseFlags(args: readonly string[]): ParsedFlags {
  const diagnostics: ConfigDiagnostic[] = [];
  const values = new Map<FlagSpec, JsonValue>();
  for (const word of readWords(args)) {
    if ('diagnostic' in word) {
      diagnostics.push(word.diagnostic);
      continue;
    }
    try {
      values.set(word.flag, parseFlagValue(word.flag.kind, word.value, values.get(word.flag)));
    } catch (error) {
      const name = word.flag.name in SHORTHANDS ? `-${word.flag.name}, --${word.flag.name}` : `--${word.flag.name}`;
      const message = `invalid argument ${JSON.stringify(word.value)} for "${name}" flag: ${errorText(error)}`;
      diagnostics.push(errorAt(`--${word.flag.name}`, message));
    }
  }
  const given = FLAGS.flatMap((flag) => {
    const value = values.get(flag);
    return value === undefined ? [] : [{ ...flag, value }];
  });
  const idle = given.filter(({ meaning }) => meaning.class === 'none');
  const ignored = idle.map(({ name }) =>
    warningAt(`--${name}`, `flag --${name} has no meaning in Nodelet and is ignored`),
  );
  const texts = flagTexts(values);
  return { flags: ownFlags(given), fields: fieldFlags(given), texts, diagnostics: [...diagnostics, ...ignored] };
}

type GivenFlag = FlagSpec & { readonly value: JsonValue };

function fieldFlags(given: readonly GivenFlag[]): readonly FieldFlag[] {
  return given.flatMap(({ name, meaning, value }) => {
    if (meaning.class !== 'field') return [];
    // The field and the flag are both ways to turn it on, neither one turns the other off.
    if (name === 'seccomp-default' && value === false) return [];
    return [{ path: meaning.path, value }];
  });
}

/** Each value has the type of its property: the kind of the flag says so. Empty text is as good as no flag. */
function ownFlags(given: readonly GivenFlag[]): KubeletFlags {
  const own = given.flatMap(({ meaning, kind, value }) => {
    if (meaning.class !== 'own' || value === '') return [];
    return [[meaning.property, kind === 'duration' ? parseDurationMs(String(value)) : value] as const];
  });
  return { ...DEFAULT_FLAGS, ...Object.fromEntries(own) };
}

type Word = { readonly flag: FlagSpec; readonly value: string } | { readonly diagnostic: ConfigDiagnostic };

/** Continues after an error, so that all of them are reported at once. */
function* readWords(args: readonly string[]): Generator<Word> {
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--') {
      for (const stray of rest) yield strayWord(stray);
      return;
    }
    if (arg.startsWith('--')) yield readLong(arg, rest);
    else if (arg.startsWith('-') && arg !== '-') yield* readShort(arg.slice(1), rest);
    else yield strayWord(arg);
  }
}

function readLong(arg: string, rest: string[]): Word {
  const [, written = '', value] = /^--([^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
  if (written === '' || written.startsWith('-')) return { diagnostic: errorAt(arg, `bad flag syntax: ${arg}`) };
  const flag = BY_NAME.get(written.replaceAll('_', '-'));
  if (!flag) {
    // The word behind it is most likely its value, not a mistake of its own.
    if (value === undefined && rest[0] !== undefined && !rest[0].startsWith('-')) rest.shift();
    const meant = didYouMean(written.replaceAll('_', '-'), BY_NAME.keys(), '--');
    return { diagnostic: errorAt(`--${written}`, `unknown flag: --${written}${meant}`) };
  }
  const taken = value ?? VALUE_WHEN_BARE[flag.kind] ?? rest.shift();
  if (taken === undefined) return { diagnostic: errorAt(`--${flag.name}`, `flag needs an argument: --${written}`) };
  return { flag, value: taken };
}

/** `-v4`, `-v=4`, `-v 4`, `-h`, `-hv4`. */
function* readShort(letters: string, rest: string[]): Generator<Word> {
  const letter = letters.slice(0, 1);
  const flag = BY_NAME.get(SHORTHANDS[letter] ?? '');
  if (!flag) {
    const message = `unknown shorthand flag: '${letter}' in -${letters}`;
    yield { diagnostic: errorAt(`-${letter}`, message) };
    return;
  }
  const behind = letters.slice(1);
  const bare = VALUE_WHEN_BARE[flag.kind];
  if (behind.length > 1 && behind.startsWith('=')) yield { flag, value: behind.slice(1) };
  else if (bare !== undefined) {
    yield { flag, value: bare };
    if (behind !== '') yield* readShort(behind, rest);
  } else {
    const value = behind === '' ? rest.shift() : behind;
    const message = `flag needs an argument: '${letter}' in -${letters}`;
    yield value === undefined ? { diagnostic: errorAt(`-${letter}`, message) } : { flag, value };
  }
}

function strayWord(word: string): Word {
  return { diagnostic: { severity: 'error', message: `unknown command ${word}` } };
}
