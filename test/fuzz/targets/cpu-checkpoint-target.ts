import { CpuSetError } from '../../../src/base/cpu-set.ts';
import { decodeCpuCheckpoint, encodeCpuState, stateOf } from '../../../src/kubelet/cpu-manager/cpu-checkpoint.ts';
import { type FuzzTarget, requireProperty, textOf, texts } from '../fuzz-target.ts';

export const CPU_CHECKPOINT: FuzzTarget = {
  name: 'cpu-checkpoint',
  seeds: texts(
    '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
    '{"policyName":"none","defaultCpuSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"1-3"}},"checksum":3610638499}',
    '{"policyName":"static","defaultCpuSet":"0,2-8","entries":{"u":{"a":"1,9"}}}',
    '{"policyName":"static","defaultCPUSet":"1-3","entries":{"id":"4-6"}}',
  ),
  tokens: ['"entries":', '{"u":', 'null', '"0-63"', '"checksum":0', '"policyName":', '[]', '-1'],
  errors: [Error, CpuSetError],
  run(input) {
    const checkpoint = decodeCpuCheckpoint(textOf(input));
    const { policy } = checkpoint;
    const state = stateOf(checkpoint, policy, (id) => ({ uid: 'u', container: id }));
    const text = encodeCpuState(policy, state);
    const again = encodeCpuState(
      policy,
      stateOf(decodeCpuCheckpoint(text), policy, () => undefined),
    );
    requireProperty(again === text, `written as ${text}, then as ${again}`);
    return [checkpoint.version, state.shared.size > 0, state.assignments.size];
  },
};
