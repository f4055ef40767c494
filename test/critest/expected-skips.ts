import type { SpecResult } from './spec-report.ts';

/** A spec that cannot run here for a reason outside the runtime. */
interface ExpectedSkip {
  readonly spec: RegExp;
  /** critest's message if it skips the spec itself; absent: it is skipped by a ginkgo flag. */
  readonly critestSays?: RegExp;
  readonly reason: string;
}

export const EXPECTED_SKIPS: readonly ExpectedSkip[] = [
  {
    spec: /^Image Manager public image with digest should be pulled and removed/,
    reason: 'asks for the digest of a published image, which no other image has',
  },
  {
    spec: /^AppArmor /,
    critestSays: /AppArmor is disabled on this host/,
    reason: 'the kernel of this machine has no AppArmor',
  },
  {
    spec: /^Security Context UserNamespaces /,
    critestSays: /ID mapping is not supported/,
    reason: 'the file system of this machine has no mounts with mapped ids',
  },
  {
    spec: /^Container Mount Readonly .* recursive readonly mount/,
    critestSays: /runtime does not implement recursive readonly mounts/,
    reason: 'the kernel of this machine, or its OCI runtime, has no recursive read-only mounts',
  },
];

/** Specs that ginkgo skips by flag, because they cannot detect that they cannot run. */
export const GINKGO_SKIPS: readonly string[] = EXPECTED_SKIPS.filter(
  ({ critestSays }) => critestSays === undefined,
).map(({ spec }) => spec.source.replace('^', ''));

/** Why a spec was skipped; `undefined` if it should have run. */
export function expectedSkipReason({ group, name, message }: SpecResult): string | undefined {
  const known = EXPECTED_SKIPS.find(
    ({ spec, critestSays }) => spec.test(`${group} ${name}`) && (critestSays?.test(message) ?? true),
  );
  return known?.reason;
}
