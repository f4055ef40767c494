/** How a runtime says no: what `assert.rejects` looks for. Codes and reasons are the contract; each has its own words. */
export interface Refusal {
  readonly code: string;
  readonly message: string | RegExp;
}

export interface Refusals {
  sandboxNameTaken(name: string, id: string): Refusal;
  readonly noMetadata: Refusal;
  readonly unknownHandler: Refusal;
  readonly createInStopped: Refusal;
  startInStopped(sandboxId: string): Refusal;
  readonly unknownSandbox: Refusal;
  /** `undefined`: to stop what is not there is fine. */
  readonly stopUnknownSandbox: Refusal | undefined;
  startTwice(containerId: string, state: string): Refusal;
  readonly programMissing: Refusal;
  containerNameTaken(id: string): Refusal;
  readonly execTimeout: Refusal;
  readonly execMissing: Refusal;
  readonly execStopped: Refusal;
  readonly unknownContainer: Refusal;
  readonly stopUnknownContainer: Refusal | undefined;
  readonly execUnknown: Refusal;
  pullFails(image: string): Refusal;
  readonly pullOfNoName: Refusal;
  readonly unknownImage: Refusal;
}

/** Of containerd 1.6, and of the runtime in memory. */
export function containerdRefusals(pullCode: string): Refusals {
  const unknownContainer = {
    code: 'NotFound',
    message: 'an error occurred when try to find container "nobody": not found',
  };
  return {
    sandboxNameTaken: (name, id) => ({
      code: 'Unknown',
      message: `failed to reserve sandbox name "${name}": name "${name}" is reserved for "${id}"`,
    }),
    noMetadata: { code: 'Unknown', message: 'sandbox config must include metadata' },
    unknownHandler: {
      code: 'Unknown',
      message: 'failed to get sandbox runtime: no runtime for "nobody" is configured',
    },
    createInStopped: { code: 'NotFound', message: /no running task found/ },
    startInStopped: (id) => ({ code: 'Unknown', message: `sandbox container "${id}" is not running` }),
    unknownSandbox: { code: 'NotFound', message: 'an error occurred when try to find sandbox: not found' },
    stopUnknownSandbox: {
      code: 'NotFound',
      message: 'an error occurred when try to find sandbox "nobody": not found',
    },
    startTwice: (id, state) => ({
      code: 'Unknown',
      message: `failed to set starting state for container "${id}": container is in ${state} state`,
    }),
    programMissing: { code: 'Unknown', message: /exec: "\/nonesuch": stat \/nonesuch: no such file or directory/ },
    containerNameTaken: (id) => ({
      code: 'Unknown',
      message: new RegExp(`^failed to reserve container name "succeeds_.*_0": .* is reserved for "${id}"$`),
    }),
    execTimeout: {
      code: 'DeadlineExceeded',
      message: 'failed to exec in container: timeout 1s exceeded: context deadline exceeded',
    },
    execMissing: {
      code: 'Unknown',
      message: /^failed to exec in container: failed to start exec .*"nonesuch": executable file not found in \$PATH/,
    },
    execStopped: { code: 'Unknown', message: 'failed to exec in container: container is in CONTAINER_EXITED state' },
    unknownContainer,
    stopUnknownContainer: unknownContainer,
    execUnknown: {
      code: 'NotFound',
      message: 'failed to exec in container: failed to find container "nobody" in store: not found',
    },
    pullFails: (image) => ({
      code: pullCode,
      message: new RegExp(`^failed to pull and unpack image "${image}": failed to resolve reference "${image}": `),
    }),
    pullOfNoName: {
      code: 'Unknown',
      message: /^failed to parse image reference "UPPER\/\/case": invalid reference format/,
    },
    unknownImage: { code: 'NotFound', message: 'failed to resolve image "localhost/nobody:1": not found' },
  };
}

/** Of the embedded runtime: a code that says what kind of thing is wrong, and the field where the caller is. */
export const nodeletRefusals: Refusals = {
  sandboxNameTaken: (name, id) => ({
    code: 'AlreadyExists',
    message: `failed to reserve sandbox name "${name}": name "${name}" is reserved for "${id}"`,
  }),
  noMetadata: { code: 'InvalidArgument', message: /^config/ },
  unknownHandler: { code: 'InvalidArgument', message: /^runtime_handler: .*"nobody"/ },
  createInStopped: { code: 'FailedPrecondition', message: /^sandbox \w+ is not ready$/ },
  startInStopped: (id) => ({ code: 'FailedPrecondition', message: new RegExp(`sandbox ${id} is not ready$`) }),
  unknownSandbox: { code: 'NotFound', message: 'sandbox "nobody" not found' },
  stopUnknownSandbox: undefined,
  startTwice: (id, state) => ({
    code: 'FailedPrecondition',
    message: `container ${id} cannot be started: it is in ${state} state`,
  }),
  programMissing: { code: 'Unknown', message: /^cannot start container: .*\/nonesuch.*no such file or directory/i },
  containerNameTaken: (id) => ({
    code: 'AlreadyExists',
    message: new RegExp(`^config\\.metadata: name "succeeds_.*_0" is reserved for ${id}$`),
  }),
  execTimeout: {
    code: 'DeadlineExceeded',
    message: 'failed to exec in container: timeout 1s exceeded: context deadline exceeded',
  },
  execMissing: { code: 'Unknown', message: /^failed to exec in container: .*nonesuch.* not found/ },
  execStopped: { code: 'FailedPrecondition', message: /container is in CONTAINER_EXITED state$/ },
  unknownContainer: { code: 'NotFound', message: 'container "nobody" not found' },
  stopUnknownContainer: undefined,
  execUnknown: { code: 'NotFound', message: /container "nobody" not found$/ },
  pullFails: (image) => ({ code: 'Unknown', message: new RegExp(`^failed to pull image "${image}": `) }),
  pullOfNoName: {
    code: 'InvalidArgument',
    message: /^image\.image: failed to parse image reference "UPPER\/\/case": invalid reference format/,
  },
  unknownImage: { code: 'NotFound', message: 'config.image.image: image "localhost/nobody:1" not found' },
};
