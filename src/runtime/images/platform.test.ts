import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Platform, platformRank } from './platform.ts';

const platform = (text: string, features: readonly string[] = []): Platform => {
  const [os = '', architecture = '', variant = ''] = text.split('/');
  return { os, architecture, variant, features };
};

/** Platforms by rank, and those that do not run at all. */
const CASES: Record<string, { readonly runs: readonly (readonly string[])[]; readonly rejects: readonly string[] }> = {
  amd64: {
    runs: [
      ['linux/amd64', 'linux/amd64/v1', 'Linux/x86_64', '/amd64'],
      ['linux/386', 'linux/i386'],
    ],
    rejects: ['linux/amd64/v2', 'linux/amd64/v3', 'linux/arm64', 'windows/amd64', 'unknown/unknown'],
  },
  arm64: {
    runs: [
      ['linux/arm64', 'linux/arm64/v8', 'linux/aarch64'],
      ['linux/arm/v8', 'linux/arm/8'],
      ['linux/arm/v7', 'linux/arm', 'linux/armhf'],
      ['linux/arm/v6', 'linux/armel'],
      ['linux/arm/v5'],
    ],
    rejects: ['linux/arm64/v9', 'linux/amd64', 'darwin/arm64'],
  },
  arm: { runs: [['linux/arm', 'linux/arm/v7'], ['linux/arm/v6'], ['linux/arm/v5']], rejects: ['linux/arm/v8'] },
  s390x: { runs: [['linux/s390x']], rejects: ['linux/amd64'] },
};

for (const [machine, { runs, rejects }] of Object.entries(CASES)) {
  test(`platformRank() ranks platforms on ${machine}`, () => {
    const ranks = runs.map((same) => same.map((text) => platformRank(platform(text), machine)));
    assert.deepEqual(
      ranks,
      runs.map((same, rank) => same.map(() => rank)),
    );
    for (const text of rejects) assert.equal(platformRank(platform(text), machine), undefined, text);
  });
}

test('platformRank() rejects platforms with required features', () => {
  assert.equal(platformRank(platform('linux/amd64', ['sse4']), 'amd64'), undefined);
});
