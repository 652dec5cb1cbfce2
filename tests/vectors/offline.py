def compare(pod, objects, wanted, answer):
    return []
