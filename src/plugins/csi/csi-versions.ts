import { goQuote } from '../../base/go/go-quote.ts';

/** A version as apimachinery's `ParseGeneric` reads it: two or more numbers; what follows them is ignored. */
export type CsiVersion = readonly bigint[];

/**
 * The highest version that kubelet supports: of 1.x, the only major version of CSI. Throws with kubelet's message for
 * versions without one.
 */
export function highestSupportedVersion(versions: readonly string[]): CsiVersion {
  let highest: CsiVersion | undefined;
  let failure: string | undefined;
  for (const text of versions.toReversed()) {
    const version = parseVersion(text);
    if ('error' in version) failure = version.error;
    else if ((version.numbers[0] ?? 0n) <= 1n && (!highest || isLower(highest, version.numbers)))
      highest = version.numbers;
  }
  if (!highest) {
    throw new Error(
      `could not find a highest supported version from versions ([${versions.join(' ')}]) reported: ${failure ?? '<nil>'}`,
    );
  }
  if (highest[0] !== 1n) {
    throw new Error(`highest supported version reported is ${versionText(highest)}, must be v1.x`);
  }
  return highest;
}

/** Missing numbers count as zero. */
export function isLower(version: CsiVersion, than: CsiVersion): boolean {
  for (let index = 0; index < Math.max(version.length, than.length); index++) {
    const [left, right] = [version[index] ?? 0n, than[index] ?? 0n];
    if (left !== right) return left < right;
  }
  return false;
}

export function versionText(version: CsiVersion): string {
  return version.join('.');
}

type Parsed = { readonly numbers: CsiVersion } | { readonly error: string };

const MAX_UINT64 = 2n ** 64n - 1n;

function parseVersion(text: string): Parsed {
  const numbers = /^\s*v?([0-9]+(?:\.[0-9]+)*)/.exec(text)?.[1]?.split('.');
  if (!numbers) return { error: `could not parse ${goQuote(text)} as version` };
  if (numbers.length < 2) return { error: `illegal version string ${goQuote(text)}` };
  const [first = ''] = numbers;
  if (first.startsWith('0') && first !== '0') {
    return { error: `illegal zero-prefixed version component ${goQuote(first)} in ${goQuote(text)}` };
  }
  const large = numbers.find((number) => BigInt(number) > MAX_UINT64);
  if (large !== undefined) {
    const cause = `strconv.ParseUint: parsing ${goQuote(large)}: value out of range`;
    return { error: `illegal non-numeric version component ${goQuote(large)} in ${goQuote(text)}: ${cause}` };
  }
  return { numbers: numbers.map(BigInt) };
}
