/** The Kubernetes whose kubelet this takes the place of: what control planes compare with their own version. */
export const KUBERNETES_VERSION = 'v1.36.4';
