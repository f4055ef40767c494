import assert from 'node:assert/strict';
import test from 'node:test';
import type { ResourceRequirements } from '../../api/generated/core-v1.ts';
import { exampleContainer, examplePod } from '../sync/config/pod.fixture.ts';
import { hugePageSize } from './empty-dir.ts';

const small: ResourceRequirements = { requests: { 'hugepages-2Mi': '4Mi', memory: '1Gi' } };
const large: ResourceRequirements = { requests: { 'hugepages-1Gi': '1Gi' } };

const cases: Record<string, { medium: string; of: readonly ResourceRequirements[]; size?: string; fault?: string }> = {
  'the only size': { medium: 'HugePages', of: [small, small], size: '2Mi' },
  'the size of the medium': { medium: 'HugePages-1Gi', of: [small, large], size: '1Gi' },
  'one size in different spellings': { medium: 'HugePages-2048Ki', of: [small], size: '2Mi' },
  'no size without a request': {
    medium: 'HugePages',
    of: [{}],
    fault: 'medium HugePages: hugePages storage requested, but there is no resource request for huge pages',
  },
  'no size that was not requested': {
    medium: 'HugePages-1Gi',
    of: [small],
    fault: 'medium HugePages-1Gi: hugePages storage requested, but there is no resource request for huge pages',
  },
  'no two sizes': {
    medium: 'HugePages',
    of: [small, large],
    fault: "medium: HugePages can't be used if container requests multiple huge page sizes",
  },
};

for (const [what, { medium, of, size, fault }] of Object.entries(cases)) {
  test(`hugePageSize() is ${what}`, () => {
    const containers = of.map((resources, index) => ({ ...exampleContainer, name: `c${index}`, resources }));
    const answer = (): string => hugePageSize(medium, examplePod({ spec: { containers } }));
    if (fault === undefined) assert.equal(answer(), size);
    else assert.throws(answer, { message: fault });
  });
}
