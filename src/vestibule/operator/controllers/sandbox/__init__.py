"""The status of KataConfigs and OSCWebhookConfigs: whether they count, and what is wrong with them.

The registrations that follow from them belong to the installation they lead to: see ``standalone``.
"""
