/** The recorded pods with volumes of a CSI driver, with `nodelet kubelet` as the node: see test/data/csi/golden. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { CSI_CASES } from '../csi/csi-cases.ts';
import type { RecordedStep, Recording } from '../csi/csi-scene.ts';
import { hostpathDriverSkipReason } from '../csi/hostpath-driver.ts';
import {
  type CsiNodeFixture,
  type RecordedNode,
  recordRegistration,
  runCsiCase,
  startCsiNode,
} from '../csi/run-csi-cases.ts';
import { skipReason as containerdSkipReason } from './containerd-fixture.ts';
import { goKubeletSkipReason } from './go-kubelet.ts';
import { NODELET_KUBELET, nodeletNodeSkipReason } from './nodelet-node.ts';

const FOLDER = join(import.meta.dirname, '../data/csi/golden');
const skip = goKubeletSkipReason() || containerdSkipReason() || nodeletNodeSkipReason() || hostpathDriverSkipReason();

function recorded<T>(name: string): T {
  return JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'));
}

suite('volumes of a CSI driver, beside recordings of kubelet', { skip }, () => {
  let node: CsiNodeFixture;
  before(async () => {
    node = await startCsiNode(NODELET_KUBELET);
  });
  after(() => node?.stop());

  test('registration: the same CSINode, annotation and labels', async () => {
    assert.deepEqual(await recordRegistration(node), recorded<RecordedNode>('registration'));
  });

  suite('cases', { concurrency: 5 }, () => {
    for (const [name, each] of Object.entries(CSI_CASES)) {
      test(`${name}: the same calls, files, status and events`, async () => {
        const done = withoutEmptyFolders(await runCsiCase(node, name, each));
        assert.deepEqual(done, withoutEmptyFolders(recorded<Recording>(name)));
      });
    }
  });
});

/**
 * The folder of a volume in its pod shows that there may be something to tear down. Nodelet creates it before the volume is
 * staged, kubelet afterwards. Without files in it, it is not compared.
 */
function withoutEmptyFolders({ steps, ...others }: Recording): Recording {
  const compared = steps.map(({ files, ...step }) => {
    const isEmpty = ({ path, kind }: RecordedStep['files'][number]): boolean =>
      kind === 'folder' &&
      /^pods\/[^/]+\/volumes\//.test(path) &&
      !files.some((file) => file.path.startsWith(`${path}/`) && (file.kind !== 'folder' || file.mountPoint));
    return { ...step, files: files.filter((file) => !isEmpty(file)) };
  });
  return { steps: compared, ...others };
}
