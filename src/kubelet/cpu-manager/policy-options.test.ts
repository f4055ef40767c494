import assert from 'node:assert/strict';
import { test } from 'node:test';
import { policyOptionsError } from './policy-options.ts';

const ALL = { alphaOptions: true, betaOptions: true };
const DEFAULT = { alphaOptions: false, betaOptions: true };

const STATIC = 'new static policy error: ';
const cases: readonly [options: Record<string, string>, gates: typeof ALL, message: string | undefined][] = [
  [{}, DEFAULT, undefined],
  [
    { 'full-pcpus-only': 'true', 'strict-cpu-reservation': 't', 'distribute-cpus-across-numa': '1' },
    DEFAULT,
    undefined,
  ],
  [{ 'full-pcpus-only': 'true', 'distribute-cpus-across-cores': 'false' }, ALL, undefined],
  [{ 'full-pcpus': 'true' }, ALL, 'unknown CPU Manager Policy option: "full-pcpus"'],
  [
    { 'full-pcpus-only': 'yes' },
    ALL,
    'bad value for option "full-pcpus-only": strconv.ParseBool: parsing "yes": invalid syntax',
  ],
  [
    { 'distribute-cpus-across-cores': 'true' },
    DEFAULT,
    'CPU Manager Policy Alpha-level Options not enabled, but option "distribute-cpus-across-cores" provided',
  ],
  [
    { 'distribute-cpus-across-numa': 'true' },
    { alphaOptions: true, betaOptions: false },
    'CPU Manager Policy Beta-level Options not enabled, but option "distribute-cpus-across-numa" provided',
  ],
  [
    { 'full-pcpus-only': 'true', 'distribute-cpus-across-cores': 'true' },
    ALL,
    'static policy options full-pcpus-only and distribute-cpus-across-cores can not be used at the same time',
  ],
  [
    { 'distribute-cpus-across-numa': 'true', 'distribute-cpus-across-cores': 'true' },
    ALL,
    'static policy options distribute-cpus-across-numa and distribute-cpus-across-cores can not be used at the same time',
  ],
  [
    { 'prefer-align-cpus-by-uncorecache': 'true', 'distribute-cpus-across-cores': 'true' },
    ALL,
    'static policy options prefer-align-cpus-by-uncorecache and distribute-cpus-across-cores can not be used at the same time',
  ],
  [
    { 'prefer-align-cpus-by-uncorecache': 'true', 'distribute-cpus-across-numa': 'true' },
    ALL,
    'static policy options prefer-align-cpus-by-uncorecache and distribute-cpus-across-numa can not be used at the same time',
  ],
];

for (const [options, gates, message] of cases) {
  test(`policyOptionsError() of ${JSON.stringify(options)} with ${JSON.stringify(gates)}`, () => {
    const expected = message === undefined ? undefined : `${STATIC}${message}`;
    assert.equal(policyOptionsError('static', options, gates), expected);
  });
}

test('policyOptionsError() accepts no option of the none policy', () => {
  assert.equal(policyOptionsError('none', {}, DEFAULT), undefined);
  assert.equal(
    policyOptionsError('none', { b: '2', a: '1' }, DEFAULT),
    'new none policy error: None policy: received unsupported options=map[a:1 b:2]',
  );
});
