"""The rig: real etcd, kube-apiserver, controllers, scheduler and kwok on 127.0.0.1, for tests and for people.

``build`` makes the programs once per version; ``controlplane`` boots them in about three seconds;
``faultproxy`` stands between any two parts; ``fixtures`` is the pytest plugin. Nothing here is product code.
"""
