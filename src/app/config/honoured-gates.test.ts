import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { linuxFileSystem } from '../../host/linux/fs/linux-file-system.ts';
import { formatDiagnostic } from './config-diagnostic.ts';
import { FEATURE_GATES } from './generated/feature-gates.ts';
import { CHECKED_GATES, gatesNotHonoured, HONOURED_GATES } from './honoured-gates.ts';

const IN_VAIN = 'has no effect in this version of Nodelet';
const cases: Record<string, { settings: Record<string, boolean>; expected: string[] }> = {
  'has nothing to say when nothing is set': { settings: {}, expected: [] },
  'has nothing to say of gates that work': { settings: { EnvFiles: false, ContainerStopSignals: true }, expected: [] },
  'has nothing to say of defaults': { settings: { MemoryQoS: false, GracefulNodeShutdown: true }, expected: [] },
  'warns about each gate that has no effect': {
    settings: { KubeletInUserNamespace: true, ContainerCheckpoint: false },
    expected: [`featureGates["KubeletInUserNamespace"]: ${IN_VAIN}`, `featureGates["ContainerCheckpoint"]: ${IN_VAIN}`],
  },
  'leaves to others what no node reads, and what is no gate': {
    settings: { APIServerIdentity: false, NoSuchGate: true },
    expected: [],
  },
  'lists which gates of a whole stage have an effect': {
    settings: { AllAlpha: true },
    expected: [
      `featureGates["AllAlpha"]: ${IN_VAIN}, except on CPUManagerPolicyAlphaOptions, ContainerStopSignals, InPlacePodVerticalScalingExclusiveCPUs, InPlacePodVerticalScalingExclusiveMemory, LoggingAlphaOptions, MemoryQoS, PodAndContainerStatsFromCRI, PodLogsQuerySplitStreams, QOSReserved, TaintTolerationComparisonOperators`,
    ],
  },
  'has nothing to say of a whole stage that is left as it is': { settings: { AllAlpha: false }, expected: [] },
};

for (const [name, { settings, expected }] of Object.entries(cases)) {
  test(`gatesNotHonoured() ${name}`, () => {
    assert.deepEqual(gatesNotHonoured(settings).map(formatDiagnostic), expected);
  });
}

test('each gate of the lists is one of kubelet, and is asked for somewhere', async () => {
  const code = await codeBelow(join(import.meta.dirname, '../..'));
  for (const gate of [...HONOURED_GATES, ...CHECKED_GATES]) {
    assert.ok(FEATURE_GATES.has(gate), gate);
    assert.ok(code.includes(`'${gate}'`), `no code reads ${gate}`);
  }
});

const NO_READER = /\.test\.ts$|^generated$|^honoured-gates\.ts$/;

async function codeBelow(folder: string): Promise<string> {
  const entries = (await linuxFileSystem.readDirectory(folder)).filter(({ name }) => !NO_READER.test(name));
  const texts = entries.map(({ name, kind }) => {
    const path = join(folder, name);
    return kind === 'directory' ? codeBelow(path) : linuxFileSystem.readText(path);
  });
  return (await Promise.all(texts)).join('');
}
