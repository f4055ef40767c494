/** An error of a runtime, for `assert.rejects`. Each runtime has its own texts. */
export interface ExpectedError {
  readonly code: string;
  readonly message: string | RegExp;
}

export interface ExpectedErrors {
  sandboxNameTaken(name: string, id: string): ExpectedError;
  readonly noMetadata: ExpectedError;
  readonly unknownHandler: ExpectedError;
  readonly createInStopped: ExpectedError;
  startInStopped(sandboxId: string): ExpectedError;
  readonly unknownSandbox: ExpectedError;
  /** `undefined`: stopping an unknown sandbox succeeds. */
  readonly stopUnknownSandbox: ExpectedError | undefined;
  startTwice(containerId: string, state: string): ExpectedError;
  readonly programMissing: ExpectedError;
  containerNameTaken(id: string): ExpectedError;
  readonly execTimeout: ExpectedError;
  readonly execMissing: ExpectedError;
  readonly execStopped: ExpectedError;
  readonly unknownContainer: ExpectedError;
  readonly stopUnknownContainer: ExpectedError | undefined;
  readonly execUnknown: ExpectedError;
  pullFails(image: string): ExpectedError;
  readonly pullInvalidReference: ExpectedError;
  readonly unknownImage: ExpectedError;
  /** `undefined`: images can be mounted. */
  readonly mountImage: ExpectedError | undefined;
  readonly mountUnknownImage: ExpectedError;
  readonly mountWritableImage: ExpectedError;
}

/** Errors of containerd 2 and of the in-memory runtime; containerd 1.6 does not know the field. */
export const imageMountErrors = {
  mountImage: undefined,
  mountUnknownImage: {
    code: 'NotFound',
    message:
      'failed to mount image volume: ImageVolumeMountFailed: failed to resolve image "localhost/unknown:1": not found',
  },
  mountWritableImage: {
    code: 'Unknown',
    message: /^failed to mount image volume: ImageVolumeMountFailed: readonly must be true while mount image/,
  },
} as const satisfies Partial<ExpectedErrors>;

/** Errors of containerd 1.6 and of the in-memory runtime. */
export function containerdErrors(pullCode: string): ExpectedErrors {
  const unknownContainer = {
    code: 'NotFound',
    message: 'an error occurred when try to find container "unknown": not found',
  };
  const noSource = { code: 'Unknown', message: /failed to mkdir "": mkdir : no such file or directory$/ };
  return {
    sandboxNameTaken: (name, id) => ({
      code: 'Unknown',
      message: `failed to reserve sandbox name "${name}": name "${name}" is reserved for "${id}"`,
    }),
    noMetadata: { code: 'Unknown', message: 'sandbox config must include metadata' },
    unknownHandler: {
      code: 'Unknown',
      message: 'failed to get sandbox runtime: no runtime for "unknown" is configured',
    },
    createInStopped: { code: 'NotFound', message: /no running task found/ },
    startInStopped: (id) => ({ code: 'Unknown', message: `sandbox container "${id}" is not running` }),
    unknownSandbox: { code: 'NotFound', message: 'an error occurred when try to find sandbox: not found' },
    stopUnknownSandbox: {
      code: 'NotFound',
      message: 'an error occurred when try to find sandbox "unknown": not found',
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
      message: 'failed to exec in container: failed to find container "unknown" in store: not found',
    },
    pullFails: (image) => ({
      code: pullCode,
      message: new RegExp(`^failed to pull and unpack image "${image}": failed to resolve reference "${image}": `),
    }),
    pullInvalidReference: {
      code: 'Unknown',
      message: /^failed to parse image reference "UPPER\/\/case": invalid reference format/,
    },
    unknownImage: { code: 'NotFound', message: 'failed to resolve image "localhost/unknown:1": not found' },
    mountImage: noSource,
    mountUnknownImage: noSource,
    mountWritableImage: noSource,
  };
}

/** Errors of containerd 2, which differ in codes and texts, and which stops what it does not know. */
export function containerd2Errors(): ExpectedErrors {
  const before = containerdErrors('Unknown');
  return {
    ...before,
    sandboxNameTaken: (name, id) => ({ ...before.sandboxNameTaken(name, id), code: 'FailedPrecondition' }),
    unknownHandler: {
      code: 'Unknown',
      message: /^unable to get OCI runtime for sandbox "\w+": no runtime for "unknown" is configured$/,
    },
    createInStopped: { code: 'Unknown', message: /^sandbox container "\w+" is not running$/ },
    stopUnknownSandbox: undefined,
    containerNameTaken: (id) => ({
      code: 'FailedPrecondition',
      message: new RegExp(`^failed to reserve container name "succeeds_.*_0"; check if .* is reserved for "${id}"$`),
    }),
    stopUnknownContainer: undefined,
    pullFails: (image) => ({
      code: 'Unknown',
      message: new RegExp(`^failed to pull and unpack image "${image}": failed to resolve image: `),
    }),
    ...imageMountErrors,
  };
}

/** Errors of the embedded runtime: specific codes, and the field of an invalid request. */
export const nodeletErrors: ExpectedErrors = {
  sandboxNameTaken: (name, id) => ({
    code: 'AlreadyExists',
    message: `failed to reserve sandbox name "${name}": name "${name}" is reserved for "${id}"`,
  }),
  noMetadata: { code: 'InvalidArgument', message: /^config/ },
  unknownHandler: { code: 'InvalidArgument', message: /^runtime_handler: .*"unknown"/ },
  createInStopped: { code: 'FailedPrecondition', message: /^sandbox \w+ is not ready$/ },
  startInStopped: (id) => ({ code: 'FailedPrecondition', message: new RegExp(`sandbox ${id} is not ready$`) }),
  unknownSandbox: { code: 'NotFound', message: 'sandbox "unknown" not found' },
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
  unknownContainer: { code: 'NotFound', message: 'container "unknown" not found' },
  stopUnknownContainer: undefined,
  execUnknown: { code: 'NotFound', message: /container "unknown" not found$/ },
  pullFails: (image) => ({ code: 'Unknown', message: new RegExp(`^failed to pull image "${image}": `) }),
  pullInvalidReference: {
    code: 'InvalidArgument',
    message: /^image\.image: failed to parse image reference "UPPER\/\/case": invalid reference format/,
  },
  unknownImage: { code: 'NotFound', message: 'config.image.image: image "localhost/unknown:1" not found' },
  mountImage: undefined,
  mountUnknownImage: {
    code: 'NotFound',
    message: 'ImageVolumeMountFailed: config.mounts[0].image.image: image "localhost/unknown:1" not found',
  },
  mountWritableImage: {
    code: 'InvalidArgument',
    message: 'ImageVolumeMountFailed: config.mounts[0].readonly: must be set where an image is mounted',
  },
};
