/** The version of the kubelet that this agent replaces. Control planes compare it with their own version. */
export const KUBERNETES_VERSION = 'v1.36.4';
