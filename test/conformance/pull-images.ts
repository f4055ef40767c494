import { connectCri } from '../../src/cri/client.ts';
import { PullImageRequest } from '../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { CONFORMANCE_HOSTS } from './conformance-images.ts';

/** Of one image, on a slow machine. */
const PULL_MS = 20 * 60_000;

/** Pulls all images of some repositories into the runtime, by the names that specs use. */
export async function pullImages(endpoint: string, registry: string, repositories: readonly string[]): Promise<void> {
  const cri = connectCri(endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: PULL_MS });
  for (const repository of repositories) {
    const { tags } = await get<{ tags: readonly string[] }>(`http://${registry}/v2/${repository}/tags/list`);
    for (const tag of tags) {
      const image = { image: `${CONFORMANCE_HOSTS[0]}/${repository}:${tag}` };
      await cri.images.pullImage(PullImageRequest.fromPartial({ image }), AbortSignal.timeout(PULL_MS));
    }
  }
  cri.close();
}

async function get<T>(url: string): Promise<T> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return (await response.json()) as T;
}
