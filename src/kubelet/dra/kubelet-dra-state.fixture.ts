/** Checkpoints of dynamic resource allocation as kubelet v1.36.4 writes them. */

/** Two claims: one of two drivers with two devices, one without a driver. */
export const KUBELET_CLAIMS = String.raw`{"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/v1\",\"ClaimInfoStateList\":[{\"ClaimUID\":\"uid-1\",\"ClaimName\":\"gpu\",\"Namespace\":\"default\",\"PodUIDs\":{\"pod-a\":{},\"pod-b\":{}},\"DriverState\":{\"gpu.example.com\":{\"Devices\":[{\"PoolName\":\"box\",\"DeviceName\":\"gpu-0\",\"ShareID\":\"5c7a1b9e-0000-4000-8000-000000000001\",\"RequestNames\":[\"big\",\"small\"],\"CDIDeviceIDs\":[\"example.com/gpu=0\",\"example.com/gpu=\\u003call\\u003e\\u0026\\u2028\"]},{\"PoolName\":\"box\",\"DeviceName\":\"gpu-1\",\"ShareID\":null,\"RequestNames\":null,\"CDIDeviceIDs\":null}]},\"nic.example.com\":{\"Devices\":null}}},{\"ClaimUID\":\"uid-2\",\"ClaimName\":\"none\",\"Namespace\":\"kube-system\",\"PodUIDs\":{},\"DriverState\":{}}]}","Checksum":3080409999}`;

export const KUBELET_NO_CLAIMS = String.raw`{"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/v1\",\"ClaimInfoStateList\":[]}","Checksum":2361995144}`;

/** Before the first claim. */
export const KUBELET_NEW_CLAIMS = String.raw`{"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/v1\",\"ClaimInfoStateList\":null}","Checksum":4010664294}`;

export const KUBELET_HEALTH = String.raw`{"gpu.example.com":{"Devices":{"box/gpu-0":{"PoolName":"box","DeviceName":"gpu-0","Health":"Healthy","LastUpdated":"2025-11-16T13:33:20Z","HealthCheckTimeout":30000000000,"Message":""},"box/gpu-1":{"PoolName":"box","DeviceName":"gpu-1","Health":"Unhealthy","LastUpdated":"2025-11-16T13:33:20.123Z","HealthCheckTimeout":90000000000,"Message":"too \u003chot\u003e"}}}}`;
