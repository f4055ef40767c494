/** The metrics of `nodelet cri --metrics-listen` while a pod starts and ends. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { ImageSpec } from '../../src/cri/generated/runtime-v1.ts';
import { freePort } from './free-port.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { type Scene, startScene, WAITS } from './runtime-pod.ts';

const port = embeddedSkipReason() ? 0 : await freePort();

describe('metrics of nodelet cri', { skip: embeddedSkipReason() }, () => {
  let scene: Scene;
  before(async () => {
    scene = await startScene({ flags: ['--metrics-listen', `:${port}`] });
  });
  after(() => scene?.stop());

  test('calls, network plugins and pulls have the names of containerd, and the process its own', async () => {
    const pod = await scene.runPod();
    const id = await pod.startReady(WAITS);
    await scene.stopContainer(id, 1n);
    await pod.remove();
    const values = valuesOf(await get('/v1/metrics'));
    const count = (name: string): number | undefined => values.get(name);
    for (const [name, wanted] of [
      ['containerd_cri_sandbox_runtime_create_seconds_count{runtime="runc"}', 1],
      ['containerd_cri_sandbox_runtime_stop_seconds_count{runtime="runc"}', 1],
      ['containerd_cri_sandbox_remove_seconds_count{runtime="runc"}', 1],
      ['containerd_cri_sandbox_create_network_seconds_count', 1],
      ['containerd_cri_sandbox_delete_network_seconds_count', 1],
      ['containerd_cri_container_create_seconds_count{runtime="runc"}', 1],
      ['containerd_cri_container_start_seconds_count{runtime="runc"}', 1],
      ['containerd_cri_container_stop_seconds_count{runtime="runc"}', 1],
      ['containerd_cri_network_plugin_operations_total_total{operation_type="set_up_pod"}', 1],
      ['containerd_cri_network_plugin_operations_total_total{operation_type="tear_down_pod"}', 1],
      ['containerd_cri_network_plugin_operations_duration_seconds_seconds_count{operation_type="set_up_pod"}', 1],
      ['containerd_cri_sandboxed_in_progress_image_pulls_total', 0],
    ] as const)
      assert.equal(count(name), wanted, name);
    const seconds = count('containerd_cri_sandbox_runtime_create_seconds_sum{runtime="runc"}') ?? 0;
    assert.ok(seconds > 0, `the sandbox took ${seconds} s`);
    assert.ok((count('process_resident_memory_bytes') ?? 0) > 1e6);
    assert.equal(count('containerd_cri_sandboxed_image_pulls_total{status="failure"}'), undefined);
  });

  test('a pull that fails is counted, and other paths do not exist', async () => {
    const image = ImageSpec.create({ image: '127.0.0.1:1/none:1' });
    const pull = { image, auth: undefined, sandboxConfig: undefined };
    await assert.rejects(scene.cri.images.pullImage(pull, AbortSignal.timeout(60_000)), /none/);
    const values = valuesOf(await get('/metrics'));
    assert.equal(values.get('containerd_cri_sandboxed_image_pulls_total{status="failure"}'), 1);
    await assert.rejects(get('/'), /404/);
  });
});

function get(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, agent: false });
    asked.once('response', (response) => {
      if (response.statusCode === 200) text(response).then(resolve, reject);
      else reject(new Error(`status ${response.statusCode}`));
    });
    asked.once('error', reject).end();
  });
}

function valuesOf(page: string): ReadonlyMap<string, number> {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}
