import { deepEqual, ok } from 'node:assert/strict';
import { silentLog } from '../../../base/log.ts';
import type { RateLimit } from '../../../base/token-bucket.ts';
import {
  type AuthConfig,
  Image,
  ImageStatusResponse,
  ListImagesResponse,
  PodSandboxConfig,
  type PullImageRequest,
  PullImageResponse,
} from '../../../cri/generated/runtime-v1.ts';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import { PodError, podErrorEvent } from '../../pod/pod-error.ts';
import { examplePod } from '../../sync/config/pod.fixture.ts';
import { ensureImage, type ImageDeps } from '../ensure-image.ts';
import type { VerificationPolicy } from '../image-access.ts';
import { matchingCredentials } from '../matching-credentials.ts';
import { PullBackoff } from '../pull-backoff.ts';
import { PullRateLimiter } from '../pull-rate.ts';
import { PullRecords } from '../pull-records.ts';
import type { LoginSource } from '../registry-login.ts';
import { SharedPulls } from '../shared-pulls.ts';

export const never = new AbortController().signal;
export const sandboxConfig = PodSandboxConfig.fromPartial({ metadata: { name: 'hello' } });

export interface RuntimeOptions {
  readonly policy?: VerificationPolicy;
  readonly rate?: RateLimit;
  readonly serializeImagePulls?: boolean;
}

/** A runtime that has `present`, and pulls any other image in 1.2 s unless `broken` is set. */
export class ImageRuntime {
  readonly host = createMemoryHost({ startMs: 0 });
  readonly clock = this.host.clock;
  readonly present = new Map<string, Image>();
  readonly pulled: PullImageRequest[] = [];
  readonly events: string[] = [];
  broken: Error | undefined;
  statusBroken: Error | undefined;
  /** Delay of the next image status. */
  statusTakesMs = 0;
  /** Delay of the next credential lookup. */
  credentialsTakeMs = 0;
  refOf = (name: string): string => `id of ${name}`;
  /** Throws for credentials that may not pull. */
  allows: (auth: AuthConfig | undefined) => void = () => {};
  readonly deps: ImageDeps;

  constructor({ policy, rate = { qps: 5, burst: 10 }, serializeImagePulls = true }: RuntimeOptions = {}) {
    const listImages = async () => ListImagesResponse.fromPartial({ images: [...this.present.values()] });
    const settings = { rootDir: '/kubelet' };
    const records = new PullRecords({ ...this.host, log: silentLog, images: { listImages }, settings }, never);
    this.deps = {
      clock: this.clock,
      backoff: new PullBackoff(this.clock),
      rate: new PullRateLimiter(rate, this.clock),
      pulls: new SharedPulls({ serializeImagePulls, maxParallelImagePulls: undefined }),
      credentials: async (repository, { pullSecrets }) => {
        await this.#pause('credentialsTakeMs');
        return matchingCredentials(repository, pullSecrets);
      },
      verification: policy && { policy, records },
      images: {
        imageStatus: async ({ image }) => {
          if (this.statusBroken) throw this.statusBroken;
          const answer = ImageStatusResponse.fromPartial({ image: this.present.get(image?.image ?? '') });
          await this.#pause('statusTakesMs');
          return answer;
        },
        pullImage: (request, signal) => this.#pull(request, signal),
      },
    };
  }

  async #pause(of: 'statusTakesMs' | 'credentialsTakeMs'): Promise<void> {
    const ms = this[of];
    this[of] = 0;
    if (ms > 0) await this.clock.sleep(ms, never);
  }

  async #pull(request: PullImageRequest, signal: AbortSignal): Promise<PullImageResponse> {
    this.pulled.push(request);
    await this.clock.sleep(1200, signal);
    this.allows(request.auth);
    if (this.broken) throw this.broken;
    const name = request.image?.image ?? '';
    this.present.set(name, Image.fromPartial({ id: `id of ${name}`, size: 4096n, uid: { value: 7n } }));
    return PullImageResponse.fromPartial({ imageRef: this.refOf(name) });
  }

  ask(image: string, pullPolicy: string, uid = 'u1', pullSecrets: readonly LoginSource[] = []) {
    const pod = examplePod({ metadata: { uid, annotations: { a: 'b' } } });
    const record = (type: string, reason: string, message: string) => this.events.push(`${type} ${reason} ${message}`);
    const request = { pod, image, pullPolicy, pullSecrets, sandboxConfig, record };
    return ensureImage(request, this.deps, never).catch((error: unknown) => {
      ok(error instanceof PodError);
      const event = podErrorEvent(error); // recorded by the start of the container
      record(event.type, event.reason, event.message);
      const { reason, message, retryAfterMs, silent } = error;
      return { reason, message, retryAfterMs, silent };
    });
  }

  async ensure(image: string, pullPolicy: string, uid?: string, pullSecrets?: readonly LoginSource[]) {
    const outcome = this.ask(image, pullPolicy, uid, pullSecrets);
    await this.clock.advance(5000);
    return outcome;
  }

  /** Asserts the users of all pull attempts since the last call. */
  tried(...users: (string | undefined)[]): void {
    deepEqual(
      this.pulled.splice(0).map(({ auth }) => auth?.username),
      users,
    );
  }
}

/** The login of a Secret for `registry.io`, whose password is the user name. */
export function secretLogin(name: string, username: string, namespace = 'default'): LoginSource {
  const login = { username, password: username, email: '' };
  return {
    config: new Map([['registry.io', login]]),
    owner: { kind: 'secret', secret: { uid: `uid of ${namespace}/${name}`, namespace, name } },
  };
}

/** The login of a service account, as a credential provider returns it. */
export function accountLogin(name: string, username: string, uid = `uid of ${name}`): LoginSource {
  return {
    ...secretLogin(name, username),
    owner: { kind: 'serviceAccount', account: { uid, namespace: 'default', name } },
  };
}
