import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuSet } from '../../base/cpu-set.ts';
import { type ContainerOwner, decodeCpuCheckpoint, encodeCpuState, stateOf } from './cpu-checkpoint.ts';
import type { CpuState } from './cpu-state.ts';

const OWNERS: ReadonlyMap<string, ContainerOwner> = new Map([
  ['containerID1', { uid: 'pod', container: 'container1' }],
  ['containerID2', { uid: 'pod', container: 'container2' }],
]);

function decoded(text: string, policy = 'none'): unknown {
  try {
    const { shared, assignments } = stateOf(decodeCpuCheckpoint(text), policy, (id) => OWNERS.get(id));
    const pods = [...assignments].map(([uid, ofPod]) => {
      return [uid, Object.fromEntries([...ofPod].map(([name, cpus]) => [name, cpus.toString()]))] as const;
    });
    return { shared: shared.toString(), ...Object.fromEntries(pods) };
  } catch (error) {
    assert.ok(error instanceof Error);
    return error.message;
  }
}

/** The checksums are kubelet's. */
const files: Record<string, { text: string; expected: unknown }> = {
  'the shared pool alone': {
    text: '{"policyName":"none","defaultCPUSet":"4-6","entries":{},"checksum":354655845}',
    expected: { shared: '4-6' },
  },
  assignments: {
    text: '{"policyName":"none","defaultCpuSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"1-3"}},"checksum":3610638499}',
    expected: { shared: '1-3', pod: { container1: '4-6', container2: '1-3' } },
  },
  'a file without a checksum': {
    text: '{"policyName":"none","defaultCpuSet":"1-3"}',
    expected: { shared: '1-3' },
  },
  'a file of kubelet 1.17 without containers': {
    text: '{"policyName":"none","defaultCPUSet":"1-3","checksum":1694838852}',
    expected: { shared: '1-3' },
  },
  'a file of kubelet 1.17': {
    text: '{"policyName":"none","defaultCPUSet":"1-3","entries":{"containerID1":"4-6","containerID2":"1-3"},"checksum":3680390589}',
    expected: { shared: '1-3', pod: { container1: '4-6', container2: '1-3' } },
  },
  'a file of kubelet 1.17 with a container that is gone': {
    text: '{"policyName":"none","defaultCPUSet":"1-3","entries":{"gone":"4-6"}}',
    expected: "failed to migrate checkpoint from v1 to v2: containerID 'gone' not found in initial containers list",
  },
  'a file with other fields': {
    text: '{"":[],"x":{},"policyName":"none","defaultCpuSet":"1-3"}',
    expected: { shared: '1-3' },
  },
  'a wrong checksum': {
    text: '{"policyName":"none","defaultCPUSet":"4-6","entries":{},"checksum":1337}',
    expected: 'checkpoint is corrupted',
  },
  'another policy': {
    text: '{"policyName":"other","defaultCPUSet":"1-3","entries":{},"checksum":1394507217}',
    expected: 'configured policy "none" differs from state checkpoint policy "other"',
  },
  'a shared pool that is no list of CPUs': {
    text: '{"policyName":"none","defaultCPUSet":"1.3","entries":{},"checksum":3021697696}',
    expected: 'could not parse default cpu set "1.3": strconv.Atoi: parsing "1.3": invalid syntax',
  },
  'an assignment that is no list of CPUs': {
    text: '{"policyName":"none","defaultCPUSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"asd"}},"checksum":962272150}',
    expected:
      'could not parse cpuset "asd" for container "container2" in pod "pod": strconv.Atoi: parsing "asd": invalid syntax',
  },
  'an empty file': { text: '', expected: 'unexpected end of JSON input' },
  'a truncated file': { text: '{"policyName":"none","defaultCpu', expected: 'unexpected end of JSON input' },
  'a list': {
    text: '[]',
    expected: 'json: cannot unmarshal array into Go value of type state.CPUManagerCheckpointV1',
  },
  'a number in place of a policy': {
    text: '{"policyName":5}',
    expected: 'json: cannot unmarshal number into Go struct field CPUManagerCheckpointV1.policyName of type string',
  },
  'a list in place of entries': {
    text: '{"entries":[]}',
    expected:
      'json: cannot unmarshal array into Go struct field CPUManagerCheckpointV1.entries of type map[string]string',
  },
  'a negative checksum': {
    text: '{"checksum":-1}',
    expected:
      'json: cannot unmarshal number -1 into Go struct field CPUManagerCheckpointV1.checksum of type checksum.Checksum',
  },
  'pod entries of the feature gate PodLevelResourceManagers': {
    text: '{"policyName":"none","defaultCpuSet":"1-3","entries":{"pod":{"c":"4-6"}},"podEntries":{"pod":{"cpuSet":"4-6"}},"checksum":1}',
    expected: 'json: cannot unmarshal object into Go struct field CPUManagerCheckpointV1.entries of type string',
  },
};

for (const [name, { text, expected }] of Object.entries(files)) {
  test(`decodeCpuCheckpoint() reads ${name} as kubelet does`, () => {
    assert.deepEqual(decoded(text), expected);
  });
}

test('encodeCpuState() writes the bytes of kubelet', () => {
  const empty: CpuState = { shared: CpuSet.EMPTY, assignments: new Map() };
  assert.equal(encodeCpuState('none', empty), '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}');
});

test('encodeCpuState() writes what decodeCpuCheckpoint() reads, in the order of the names', () => {
  const pod = new Map([
    ['z', CpuSet.parse('4-6')],
    ['a', CpuSet.parse('1,9')],
  ]);
  const state: CpuState = {
    shared: CpuSet.parse('0,2-3'),
    assignments: new Map([
      ['9', pod],
      ['10', pod],
    ]),
  };
  const text = encodeCpuState('static', state);
  assert.match(text, /"entries":\{"10":\{"a":"1,9","z":"4-6"\},"9":\{"a":"1,9","z":"4-6"\}\},"checksum":[0-9]+\}$/);
  assert.deepEqual(decoded(text, 'static'), {
    shared: '0,2-3',
    10: { a: '1,9', z: '4-6' },
    9: { a: '1,9', z: '4-6' },
  });
});
