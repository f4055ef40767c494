interface SandboxTrouble {
  readonly cause: string;
  readonly help: string;
}

/** Failures of a sandbox that have nothing to do with what the runtime did, and what puts them right. */
export function sandboxTrouble(error: string): SandboxTrouble | undefined {
  const [, missing] = /runtimeclass\.node\.k8s\.io "([^"]*)" not found/.exec(error) ?? [];
  if (missing !== undefined) {
    return {
      cause: `there is no runtime class "${missing}"`,
      help: 'A RuntimeClass of that name has to be at the API server, or in a manifest beside the pod.',
    };
  }
  const [, handler] = /no runtime for "([^"]*)" is configured/.exec(error) ?? [];
  if (handler !== undefined) {
    return {
      cause: `the runtime has no handler "${handler}"`,
      help: "The handler of the pod's runtime class has to be in the configuration of the container runtime.",
    };
  }
  if (error.includes('does not support user namespaces')) {
    return {
      cause: 'the runtime cannot give it users of its own',
      help: 'hostUsers: false needs a newer container runtime; containerd has it from 2.0 on.',
    };
  }
  return undefined;
}
